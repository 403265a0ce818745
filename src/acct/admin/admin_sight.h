/* admin_sight.h - whose jobs and usage a user sees that PrivateData hides */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct admin;
struct admin_who;

/* Everybody's, or his own and those of accounts. */
struct admin_sight {
    bool all;        /* an operator */
    char **accounts; /* that he coordinates, on any cluster; owned */
    size_t n;
};
/* One thread at a time, that of the object.  The caller ends *ret.  Errors: -ENOMEM. */
int admin_sight(struct admin *a, const struct admin_who *who, struct admin_sight *ret);
void admin_sight_done(struct admin_sight *sight);
