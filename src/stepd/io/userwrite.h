/* userwrite.h - processes of the user that write where a write may last as long as he likes
 *
 * A file that a program of the user serves takes a line when that program does.  What the step
 * daemon has to write there a process of the user writes: a notice, or the labelled lines of a
 * task.  Such a process is one of the step's: it is killed with the others, after it had
 * USERWRITE_REST_US from the end of the tasks on for what they have left it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define USERWRITE_REST_US (5 * USEC_PER_SEC)

struct step;
struct task;
struct userwrites;

int userwrite_new(struct userwrites **ret); /* -ENOMEM */
/* The processes go on. */
struct userwrites *userwrite_free(struct userwrites *u); /* always NULL */

/* Write a text; it may never come there.  In the order of the calls, unless the file was slow. */
void userwrite_text(const struct step *s, int fd, const char *text, size_t len);
/* Begin to write t's lines to fd (taken over), with labels for so many tasks.  The descriptor
 * where t writes, or a negative errno. */
int userwrite_lines(const struct step *s, const struct task *t, int fd, uint32_t tasks);

/* A child has ended.  False: it was none of these.  *ret_task: whose lines, NULL: a text;
 * *ret_r: 0 or the errno of its file, negative. */
bool userwrite_reaped(struct userwrites *u, pid_t pid, int status, const struct task **ret_task,
                      int *ret_r);
void userwrite_kill(struct userwrites *u);
/* The tasks are over: until when does one still write?  0: none does, or no longer. */
int64_t userwrite_until(struct userwrites *u, int64_t now_mono_us);
