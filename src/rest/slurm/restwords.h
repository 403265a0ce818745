/* restwords.h - words of the schema that commands have other words for; pure */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

/* Is the word in a list of texts, or the text itself?  list may be NULL. */
bool restwords_has(const json_t *list, const char *word);

/* "mail_type" of a job as --mail-type takes it: "END,TIME_LIMIT_80".  Nothing is added when the
 * job has none. */
void restwords_mail(const json_t *desc, struct strbuf *sb);

/* A number of seconds as options and keys take a time, which count a number on its own in minutes:
 * 90 is "1:30".  A text is taken as it is; of anything else nothing is added. */
void restwords_seconds(const json_t *value, struct strbuf *sb);
