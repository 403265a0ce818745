/* helper.h - programs beside the step daemon, which do as the user what root should not: finding
 * them, and what they are given; stepd only */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#define HELPER_PATH_MAX 2300

/* Path of slurmstepd-NAME, beside ours or in the build tree.  -ENOENT and others of readlink(2). */
int helper_path(const char *name, char *path, size_t size);
/* Move fd above all descriptor numbers that helpers use.  Returns the new descriptor; when fd is
 * negative or the move fails, a negative errno. */
int helper_fd(int fd);
/* A memfd with the message, also above those numbers. */
int helper_message(const ProtobufCMessage *msg);
