/* restgzip.h - bodies and answers in gzip (RFC 1952)
 *
 * A body is unpacked up to a limit of what it becomes, so that a small one cannot fill memory.  An
 * answer is packed piece by piece. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"

/* Does a header Accept-Encoding (NULL: there is none) allow gzip? */
bool restgzip_accepted(const char *header);

/* Unpack a body, members behind one another too.  Errors: -EBADMSG it is no gzip, or cut off;
 * -EFBIG it becomes more than max bytes; -ENOMEM. */
int restgzip_unpack(const char *data, size_t len, size_t max, struct strbuf *ret);

/* Pack a whole answer.  Errors: -ENOMEM. */
int restgzip_pack(const char *data, size_t len, struct strbuf *ret);

struct restgzip;
/* More of the answer: as read(2). */
typedef ssize_t restgzip_source(void *ctx, char *buf, size_t size);
int restgzip_new(restgzip_source *source, void *ctx, struct restgzip **ret); /* -ENOMEM */
struct restgzip *restgzip_free(struct restgzip *gz);                         /* always NULL */
/* The next packed bytes; 0 at the end, negative as the source or zlib failed. */
ssize_t restgzip_read(struct restgzip *gz, char *buf, size_t size);
