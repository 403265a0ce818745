/* secrets.h - fields of records that no answer to a query tells
 *
 * What a job was given belongs to its owner: environments, and what shows what is in them.  Records
 * hold such fields for those who run and keep jobs (slurmd, the journal, accounting); whoever
 * answers others takes them out here.  Pure. */
#pragma once

#include "base/pb/pbutil.h"

/* Take out of shown the fields of records of this type that are told to nobody.  False: there are
 * none. */
bool secrets_remove(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *shown);
/* All fields of such records but these. */
void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown);
