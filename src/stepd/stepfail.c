/* stepfail.c - the reason why a step could not be set up; see step.h */
#include <stdarg.h>
#include <stdio.h>

#include "stepd/step.h"

void step_fail(struct step *s, const char *fmt, ...)
{
    va_list ap;

    if (s->error)
        return; /* the first reason is the reason */
    va_start(ap, fmt);
    (void)vsnprintf(s->error_buf, sizeof(s->error_buf), fmt, ap);
    va_end(ap);
    s->error = s->error_buf;
}
