/* spool.h - the node's spool directory: what must survive slurmd, and nothing else
 *
 *   <spool>/job<ID>.<RUN>/job            encoded JobOnNode, mode 600
 *   <spool>/job<ID>.<RUN>/epilogued      empty: the epilog has run
 *   <spool>/job<ID>.<RUN>/clean          empty: nothing of the job is left but to say so
 *   <spool>/job<ID>.<RUN>/nss/<step>     socket: who the user is, see stepd/nssserve.h
 *   <spool>/job<ID>.<RUN>/<step>/        "batch", "interactive", "extern" or "step<N>"
 *       slurm_script                     batch only, the user's, mode 700
 *       trace                            encoded StepTrace, once the tasks run
 *       sock                             the step daemon's control socket
 *       exit                             encoded StepEnd, put there whole when the step is over
 *   <spool>/job<ID>                      link to the folder of the batch step, while it is there;
 *                                        the number has five digits at least
 *   <spool>/proc.<PID>                   encoded UserProcess: one that serves a connection for a
 *   job
 *   <spool>/.removed-job<ID>.<N>         what rm is busy with
 *   <spool>/credentials                  what is not taken again, see noded/jobs/seen.h
 *
 * A power loss ends the steps too, so nothing here is synced: the files only need to outlive
 * processes. Functions return 0 or a negative errno and leave nothing half made behind. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPOOL_PATH_MAX 4096
#define SPOOL_MAX_FILE (64u << 20)
#define SPOOL_MAX_JOBS 65536u

#define STEP_ID_BATCH 4294967291u
#define STEP_ID_EXTERN 4294967292u
#define STEP_ID_INTERACTIVE 4294967290u

/* "batch", "extern", "interactive", or the number: as Slurm prints a step after the dot. */
const char *step_id_name(uint32_t step_id, char *buf, size_t size);

/* Paths, cut at size (then too long for the kernel as well). */
void spool_job_dir(const char *spool, uint32_t job_id, uint64_t run_id, char *buf, size_t size);
void spool_step_dir(const char *spool, uint32_t job_id, uint64_t run_id, uint32_t step_id,
                    char *buf, size_t size);

/* Make the job's directory (fine when it is there), then the step's.  -EEXIST: the step is
 * there. */
int spool_make_job(const char *spool, uint32_t job_id, uint64_t run_id);
int spool_make_step(const char *spool, uint32_t job_id, uint64_t run_id, uint32_t step_id);

/* Write dir/name in one go with this mode and owner ((uid_t)-1 = ours), replacing it. */
int spool_write(const char *dir, const char *name, const void *data, size_t len, mode_t mode,
                uid_t uid, gid_t gid);
/* The same by a temporary file and rename: a reader sees all of it or nothing. */
int spool_put_msg(const char *dir, const char *name, const ProtobufCMessage *msg);
/* Make, or let point to this run, the link under which its script is known to users:
 * SPOOL/job00073/slurm_script.  spool_remove_step() and spool_remove_job() remove it. */
int spool_link_script(const char *spool, uint32_t job_id, uint64_t run_id);
/* The script of the batch step in step_dir: by that link when it leads there. */
void spool_script(const char *step_dir, uint32_t job_id, char *buf, size_t size);

/* The message in memory alone, under a descriptor of at least min_fd that stands at its
 * beginning.  -EFBIG. */
int spool_memfd(const ProtobufCMessage *msg, int min_fd, int *ret_fd);
/* Errors: -ENOENT, -EBADMSG, -EFBIG.  Caller frees with protobuf_c_message_free_unpacked(). */
int spool_get_msg(const char *dir, const char *name, const ProtobufCMessageDescriptor *desc,
                  ProtobufCMessage **ret_msg);
bool spool_has(const char *dir, const char *name);

/* Remove a step's directory with what it holds; the job's (with its steps).  Missing is fine.  What
 * a user has left in it that is more than a step's own files is moved out of the way, and a program
 * removes it: a child of ours, which the caller reaps. */
int spool_remove_step(const char *spool, uint32_t job_id, uint64_t run_id, uint32_t step_id);
int spool_remove_job(const char *spool, uint32_t job_id, uint64_t run_id);
/* What an earlier slurmd moved out of the way. */
void spool_remove_dead(const char *spool);

/* Call fn for every job directory (step_id absent) and then for each of its steps.  Names that are
 * not ours are skipped.  fn returning < 0 ends the scan with that value. */
typedef int spool_scan_fn(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id);
int spool_scan(const char *spool, spool_scan_fn *fn, void *ctx);
