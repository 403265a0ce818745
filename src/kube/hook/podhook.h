/* podhook.h - admission of pods that penstock-bridge places
 *
 * A pod is ours when its namespace is managed, or when its schedulerName is ours already.  Pure. */
#pragma once

#include "kube/bridge/bridgeconf.h"
#include "kube/hook/hookreview.h"

/* Put our schedulerName in place of the default one, and the toleration of our taint. */
void podhook_change(const struct bridgeconf *c, const struct hookreview *r, struct hookanswer *a);
/* What the bridge cannot place, and labels that are the bridge's own, are refused. */
void podhook_judge(const struct bridgeconf *c, const struct hookreview *r, struct hookanswer *a);
