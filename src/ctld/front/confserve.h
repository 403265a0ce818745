/* confserve.h - the configuration for hosts that have no files (enable_configless)
 *
 * What is handed out was read when the configuration in force was, and does not change with the
 * files.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* What nodes get; NULL: configless is not enabled. */
const Pst__ConfBundle *confserve_bundle(const struct ctld *ctld);
/* Does the node, which says that it runs with the digest, have what is in force?  Also when
 * configless is not enabled, or it has files of its own (no digest). */
bool confserve_is_current(const struct ctld *ctld, bool has_digest,
                          const ProtobufCBinaryData *digest);
/* Note in a credential what its nodes must run with. */
void confserve_fill(const struct ctld *ctld, Pst__StepCredential *cred);
