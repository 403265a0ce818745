/* scontrol_session.c - the connection that all commands of a run share, and their failures */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/scontrol/scontrol.h"

struct client *scontrol_client(struct scontrol *s, const char *what)
{
    struct err err = { .text = "" };

    if (s->client && client_fd(s->client) < 0)
        s->client = client_free(s->client);
    if (!s->client && cli_connect(&s->cli, &s->client, &err) < 0) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "%s error: %s\n", what, err.text);
        exit(CLI_EXIT_FAILED);
    }
    return s->client;
}

void scontrol_fail(struct scontrol *s, const char *fmt, ...)
{
    va_list ap;

    s->status = CLI_EXIT_FAILED;
    (void)fflush(stdout); /* keeps the order when both go to one file */
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

void scontrol_missing(struct scontrol *s, FILE *f, const char *fmt, ...)
{
    va_list ap;

    s->status = CLI_EXIT_FAILED;
    if (s->quiet)
        return;
    (void)fflush(stdout);
    va_start(ap, fmt);
    (void)vfprintf(f, fmt, ap);
    va_end(ap);
    (void)fputc('\n', f);
}
