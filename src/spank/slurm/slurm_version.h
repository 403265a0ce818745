/* slurm_version.h - the level of Slurm's interface that plugins are built for
 *
 * The number is (major << 16) | (minor << 8) | micro. */
#ifndef PENSTOCK_SLURM_VERSION_H
#define PENSTOCK_SLURM_VERSION_H

#define SLURM_VERSION_NUM(major, minor, micro) (((major) << 16) + ((minor) << 8) + (micro))
#define SLURM_VERSION_MAJOR(number) (((number) >> 16) & 0xff)
#define SLURM_VERSION_MINOR(number) (((number) >> 8) & 0xff)
#define SLURM_VERSION_MICRO(number) ((number)&0xff)

#define SLURM_VERSION_NUMBER SLURM_VERSION_NUM(26, 5, 3)

#endif
