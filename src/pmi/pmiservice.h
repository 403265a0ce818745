/* pmiservice.h - the MPI service of one step on one node: a process of the user beside the tasks
 *
 * Started by the step daemon when the step has an MPI type; a program for each type, so that the
 * simple one does not load the library of the other.  That library and the parser of what programs
 * send are thus outside of the step daemon, which is root.  The service speaks with the step
 * daemon over one connection; what is for other nodes goes from there to srun, which passes it on.
 *
 * One thread does everything: PMIx calls back in a thread of its own, and those calls only leave
 * work for this one (service_queue()). */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pmi/pmilayout.h"
#include "stepfile.pb-c.h"

/* Descriptors that the step daemon leaves open. */
enum service_fd {
    SERVICE_FD_FILE = 3, /* memfd with the StepFile */
    SERVICE_FD_LINK = 4, /* the step daemon */
    SERVICE_FD_TASKS = 5 /* and following: PMI connections of the tasks, as many as there are */
};

struct service;

struct service_kind {
    const char *name; /* as --mpi names it */
    /* Ready for the tasks.  0 or a negative errno. */
    int (*start)(struct service *s);
    void (*message)(struct service *s, const Pst__StepMpi *msg);
    /* at most a task each; NULL = none */
    size_t (*poll_fill)(struct service *s, struct pollfd *fds);
    void (*poll_done)(struct service *s, const struct pollfd *fds, size_t n);
    void (*stop)(struct service *s);
};

struct work { /* left by another thread */
    struct work *next;
    void (*run)(struct service *s, struct work *w); /* frees it */
};

struct service {
    const struct service_kind *kind;
    Pst__StepFile *sf;
    struct layout layout;
    uint32_t node;         /* our number in the step */
    const uint32_t *ranks; /* of our tasks; borrowed from sf */
    size_t n_tasks;
    char job_id[32]; /* "12.0" */
    struct client *link;
    void *state;          /* of the kind */
    int wake_fd;          /* eventfd of queue */
    pthread_mutex_t lock; /* queue */
    struct work *queue, **queue_end;
    bool over; /* the link is gone or broken */
};

/* The whole program, which gives its exit status: pmi.c is slurmstepd-pmi2, pmix.c is
 * slurmstepd-pmix. */
int service_main(const struct service_kind *kind, int argc, char **argv);

/* To the step daemon; it sets over when that has gone. */
void service_send(struct service *s, const Pst__StepMpi *msg);
/* End the step: a task asked for it, or nothing else can be done. */
void service_abort(struct service *s, uint32_t rank, int code, const char *text);
/* Leave work for the service's thread.  Any thread. */
void service_queue(struct service *s, struct work *w);
