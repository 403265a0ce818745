/* oomstatus.h - what is recorded as the wait status of tasks, steps and jobs that ran out of memory
 *
 * No process ends so: read as a status it is signal 125, which shows as exit code 0:125.  It
 * outweighs any other status of a step. */
#pragma once

#define STATUS_OOM 253u
