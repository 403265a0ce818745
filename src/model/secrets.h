/* secrets.h - fields of records that no answer to a query tells
 *
 * A job's environment, and fields that give it away, belong to its owner.  Records hold them for
 * slurmd, the journal and accounting.  What a node has to show for a certificate is nobody's to
 * know.  Code that answers queries takes them out with these
 * functions.  Pure. */
#pragma once

#include "base/pb/pbutil.h"

/* Take out of shown the fields of records of this type that no query tells.  False: there are
 * none. */
bool secrets_remove(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *shown);
/* All fields of such records but these. */
void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown);
