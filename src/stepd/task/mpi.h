/* mpi.h - the step's MPI service on this node: starting it, and passing its messages on; stepd only
 *
 * The service is a process of the user (src/pmi/).  It leaves when its link is closed, which
 * happens when the last task has ended. */
#pragma once

#include <poll.h>
#include <stdbool.h>

#include "api.pb-c.h"
#include "stepd/env/envlist.h"

struct child;
struct step;

/* Start it when the step has an MPI type; failures are in step_fail().  May wait for a server to
 * come up, some tens of milliseconds. */
void mpi_start(struct step *s);
/* What a task needs to find it: variables, and a descriptor that stays open in the child. */
void mpi_task(struct step *s, size_t index, struct envlist *env, struct child *c);
void mpi_started(struct step *s); /* the tasks have what is theirs */
/* From srun. */
void mpi_message(struct step *s, const Pst__StepMpi *msg);
/* One descriptor of the loop. */
bool mpi_full(const struct step *s); /* the service takes nothing: it gets no more */
void mpi_poll_fill(const struct step *s, struct pollfd *fd);
void mpi_poll_done(struct step *s, const struct pollfd *fd);
void mpi_stop(struct step *s);
