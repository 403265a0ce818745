/* gpu.h - which GPUs of a step on this node each task sees; stepd only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "stepd/env/gpuenv.h"

struct step;

/* Read LaunchStep.tres_bind; what cannot be read fails the step. */
void gpu_prepare(struct step *s);
/* A task's own variables. */
void gpu_task(const struct step *s, size_t index, struct envlist *el);
/* The first task (its index) that sees a GPU of the step. */
size_t gpu_first_task(const struct step *s, const Pst__Gpu *gpu);
/* With `verbose`: print which GPUs the task sees on its own standard error.  The first task's has a
 * line about --gpu-freq, too. */
void gpu_tell(const struct step *s, size_t index, int fd);
void gpu_done(struct step *s);
