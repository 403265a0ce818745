/* sluid.h - ids of runs that sort by cluster and time
 *
 * 64 bits: cluster (12), Unix time in milliseconds (42), sequence (10).  Text: 's' and 13 digits
 * of five bits, the highest first, in the alphabet 0-9 A-Z without I L O U.  0 is no id.
 * Source: reference, requeue and ids. */
#pragma once

#include <stdint.h>

#define SLUID_TEXT_SIZE 15 /* 's', 13 digits, NUL */
#define SLUID_CLUSTER_MIN 2u
#define SLUID_CLUSTER_MAX 4094u
#define SLUID_NO_JOB 1u /* in place of the cluster: a step that has no job */
/* The job numbers of such steps, MaxJobId is far below. */
#define JOB_ID_NO_JOB_MIN 0xffff0000u

/* The id after `last` (0 = none yet) of this cluster at now_us: larger than last, whatever the
 * clock does. */
uint64_t sluid_next(uint64_t last, uint32_t cluster, int64_t now_us);
/* Writes the text of id into buf and gives it. */
const char *sluid_text(uint64_t id, char buf[static SLUID_TEXT_SIZE]);
/* 0 when the text is none: wrong length or digit.  Case does not matter; O is 0, I and L are 1. */
uint64_t sluid_parse(const char *text);
