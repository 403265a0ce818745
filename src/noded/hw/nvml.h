/* nvml.h - what NVIDIA's GPUs are used for, with AutoDetect=nvml */
#pragma once

#include "noded/noded.h"

int nvml_new(struct noded *d, struct nvml **ret);
void nvml_configure(struct noded *d); /* at the start, and when the configuration was read again */
void nvml_close(struct nvml *n);
struct nvml *nvml_free(struct nvml *n);
/* The file that step daemons read; NULL: there is none. */
const char *nvml_path(const struct noded *d);
