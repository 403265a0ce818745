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

/* Start the service when the step has an MPI type; a failure is reported by step_fail().  May wait
 * some tens of milliseconds for a server to come up. */
void mpi_start(struct step *s);
/* Give a task what it needs to find the service: variables, and a descriptor that stays open in the
 * child. */
void mpi_task(struct step *s, size_t index, struct envlist *env, struct child *c);
void mpi_started(struct step *s); /* the tasks have got their descriptors */
/* A message came from srun. */
void mpi_message(struct step *s, const Pst__StepMpi *msg);
bool mpi_full(const struct step *s); /* the service takes nothing now: send it no more */
/* The service is one descriptor of the loop. */
void mpi_poll_fill(const struct step *s, struct pollfd *fd);
void mpi_poll_done(struct step *s, const struct pollfd *fd);
void mpi_stop(struct step *s);
