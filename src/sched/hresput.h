/* hresput.h - resources with layers as they are fed */
#pragma once

#include <stddef.h>

struct sched;
struct sched_resource;

/* As sched_resources_put(). */
int hres_put(struct sched *s, const struct sched_resource *list, size_t n);
