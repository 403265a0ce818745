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
/* With `verbose`: the line about it, on the task's own standard error; on that of the first task
 * also what becomes of --gpu-freq. */
void gpu_tell(const struct step *s, size_t index, int fd);
void gpu_done(struct step *s);
