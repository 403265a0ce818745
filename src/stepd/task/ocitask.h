/* ocitask.h - tasks in containers: what the step daemon does for them; stepd only
 *
 * A task is then a process of slurmstepd-oci (src/oci/), which knows bundles and runtimes.  Here is
 * what needs the step: its folder, its descriptors, and the removal of containers whose process was
 * killed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct child;
struct envlist;
struct step;
struct task;

/* Make the folder for the containers' files.  False: step_fail() was called.  True too when the
 * step has none. */
bool oci_begin(struct step *s);
bool oci_wanted(const struct step *s);
/* The parts of a struct child that one task's start needs. */
struct oci_start {
    char path[2300];
    char *paths[2];
    char **argv; /* owned */
    int give[2];
};
/* Change c, whose argv is set, so that the task begins in a container.  c borrows from o, which
 * oci_started() ends. */
int oci_task(struct step *s, const struct task *t, struct child *c, struct envlist *env,
             struct oci_start *o);
void oci_started(struct oci_start *o);
/* All processes have gone: remove the containers of killed tasks.  True once that is done; to be
 * called whenever a child has ended or oci_deadline() has come. */
bool oci_cleaned(struct step *s, int64_t now_mono_us);
int64_t oci_deadline(const struct step *s); /* 0 = none */
