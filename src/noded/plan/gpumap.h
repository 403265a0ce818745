/* gpumap.h - which jobs have which GPUs, as files that exporters of GPU metrics read
 *
 * SlurmdParameters=gpu_job_map=FOLDER: for each GPU that a job here has, a file of the GPU's number
 * (as in SLURM_JOB_GPUS), or of the GPU's and the part's, "0.7" (gpumig.h), with the numbers of its
 * jobs, one a line.  Files are written anew from the
 * table of jobs when one comes or goes, each by a rename, so that they can be wrong only while
 * slurmd is away.  Main thread. */
#pragma once

struct noded;

/* After the table of jobs was recovered: files of GPUs that the node has not are removed, too. */
void gpumap_begin(struct noded *d);
/* A job came or went. */
void gpumap_update(struct noded *d);
