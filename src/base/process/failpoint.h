/* failpoint.h - named places where a test can make an operation fail or the process die
 *
 * Armed only through the environment, PENSTOCK_FAILPOINT="name:N[,name:N+]...": `name:N` strikes at
 * the N-th time the place is passed and at no other, `name:N+` from the N-th time on.  Ignored in
 * set-uid programs.  Unarmed cost: one relaxed load.  Any thread. */
#pragma once

#include <stdbool.h>

#define FAILPOINT_ENV "PENSTOCK_FAILPOINT"
#define FAILPOINT_EXIT 86 /* exit status of a process that died at a failpoint */
#define FAILPOINT_MAX 16  /* places armed at a time; more are ignored */

/* Is it this place's turn?  The caller then fails the way the name says. */
bool failpoint(const char *name);

/* Die here as a killed process does, without clean-up of any kind, when it is this place's turn. */
void failpoint_crash(const char *name);

/* Arm anew from spec (NULL = disarm everything), for tests within one process.  Not while other
 * threads pass a failpoint for the first time. */
void failpoint_arm(const char *spec);
