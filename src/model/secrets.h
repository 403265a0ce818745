/* secrets.h - fields of records that no answer to a query tells
 *
 * A job's environment, and fields that give it away, belong to its owner.  Records hold them for
 * slurmd, the journal and accounting.  What a node has to show for a certificate is nobody's to
 * know.  Code that answers queries keeps them back with these functions.  Pure. */
#pragma once

#include "base/pb/pbutil.h"

/* All fields of records of this type but those that no query tells. */
void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown);
/* Copy an encoded record of this type to out (len bytes) with its secret fields last: the same
 * record, whose first bytes are what a query tells.  Gives the number of these first bytes; 0 when
 * the bytes are no record. */
size_t secrets_last(const ProtobufCMessageDescriptor *desc, const uint8_t *in, size_t len,
                    uint8_t *out);
