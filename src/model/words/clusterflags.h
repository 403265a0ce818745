/* clusterflags.h - what a controller tells of its cluster when it registers: bits of
 * AcctClusterRecord.flags, which Slurm's accounting knows by the same numbers */
#pragma once

#define CLUSTER_MULTIPLE_SLURMD 0x80u /* several nodes have one host */
