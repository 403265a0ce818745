/* observe.h - every change of the model is told to the services */
#pragma once

#include "ctld/ctld.h"

void observe_init(struct ctld *ctld); /* from now on */
/* Tell the observer of c about everything there is. */
void observe_each(struct cluster *c);
/* Tell the services about everything there is, as if it were new (after recovery). */
void observe_all(struct ctld *ctld);
