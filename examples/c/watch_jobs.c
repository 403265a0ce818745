/* watch_jobs.c - a line for each change of a job, from a cursor on
 *
 *   cc watch_jobs.c $(pkg-config --cflags --libs penstock) -o watch_jobs
 *   ./watch_jobs [CURSOR] < /dev/null
 *
 * A loop of poll(2) over the stream and standard input, as a program with other things to do has
 * one: a line of input ends it.  The last line is the cursor to go on with. */
#include <errno.h>
#include <penstock.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(penstock_row *row, const char *field)
{
    const char *text = row ? penstock_row_text(row, field) : NULL;

    return text ? text : "-";
}

static void print_change(penstock_watch *w, penstock_change *c)
{
    printf("%s %s %u ", penstock_watch_cursor(w), penstock_change_event(c), penstock_change_id(c));
    printf("%s -> ", text_of(penstock_change_before(c), "state"));
    printf("%s\n", text_of(penstock_change_after(c), "state"));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    penstock *p = penstock_new();
    penstock_watch *w = NULL;
    struct pollfd fds[2] = { { .fd = -1, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
    int r = p ? penstock_watch_new(p, &w) : -ENOMEM;

    if (r == 0 && argc > 1)
        r = penstock_watch_set(w, "cursor", argv[1]);
    if (r == 0)
        r = penstock_watch_start(w, -1);
    if (r > 0) {
        printf("watching\n");
        fflush(stdout);
        fds[0].fd = penstock_watch_fd(w);
    }
    while (r >= 0 && !fds[1].revents) {
        penstock_change *change;

        while ((r = penstock_watch_next(w, 0, &change)) > 0)
            print_change(w, change);
        if (r == 0 && poll(fds, 2, -1) < 0 && errno != EINTR)
            r = -errno;
    }
    if (r < 0)
        fprintf(stderr, "watch_jobs: %s\n", p ? penstock_error(p) : strerror(-r));
    else
        printf("cursor %s\n", penstock_watch_cursor(w));
    penstock_watch_free(w);
    penstock_free(p);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
