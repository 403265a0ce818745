/* gpus.h - the GPUs of this machine, without the vendors' libraries
 *
 * Everything is read below a folder that stands for "/", so that a test can show what it likes.  */
#pragma once

#include <stdint.h>

enum gpus_how {
    GPUS_OFF,
    GPUS_NVIDIA, /* the driver's files in /proc */
    GPUS_NVML,   /* as before; what they are used for is asked of the vendor's library */
    GPUS_AMD,    /* the amdgpu driver's in /sys */
    GPUS_FULL,   /* all of them in turn, until there is one */
};

#define GPUS_FOUND_MAX 1024u

struct gpu_found {
    char pci[24];   /* "0000:07:00.0" */
    char type[96];  /* "nvidia_h100_80gb_hbm3": the model in lower case */
    char uuid[80];  /* "" unknown */
    char file[64];  /* "/dev/nvidia0" */
    char cpus[256]; /* the kernel's list of CPUs near it; "" unknown */
    uint32_t minor; /* the number in its file's name */
    enum gpus_how how;
};

/* The word of AutoDetect=.  -EINVAL unknown; -EOPNOTSUPP: needs a library that is not used here. */
int gpus_how_parse(const char *text, enum gpus_how *ret);
const char *gpus_how_word(enum gpus_how how);
/* Those of `root`, in the order of their PCI addresses.  Returns how many; none when there is no
 * driver. Caller frees *ret. */
int gpus_find(const char *root, enum gpus_how how, struct gpu_found **ret);
