/* secrets.h - fields of records that no answer to a query tells
 *
 * A job's environment, and fields that give it away, belong to its owner.  Records hold them for
 * slurmd, the journal and accounting.  What a node has to show for a certificate is nobody's to
 * know.  Code that answers queries keeps them back with these functions.  Pure. */
#pragma once

#include "base/pb/pbcodec.h"
#include "base/pb/pbutil.h"

/* All fields of records of this type but those that no query tells. */
void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown);
/* A codec for whatever an event holds that packs records with their secret fields last: the bytes
 * before them are what a query tells.  -ENOMEM. */
int secrets_codec(struct pb_codec **ret_codec);
