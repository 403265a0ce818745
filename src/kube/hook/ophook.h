/* ophook.h - admission of the kinds that the operator serves
 *
 * What the operator would refuse later, in a condition, is refused when it is written: wrong
 * fields, and changes of what may not change.  Pure. */
#pragma once

#include "kube/hook/hookreview.h"

void ophook_judge(const struct hookreview *r, struct hookanswer *a);
