/* saychange.h - what a job could ask for instead (private to this room) */
#pragma once

#include "ctld/starts/explainmade.h"

/* Add the change to the reply, and its sentence: the option, and what it would bring. */
void say_change(struct explain_made *m, const struct explain_change *c);
