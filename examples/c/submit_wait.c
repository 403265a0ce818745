/* submit_wait.c - submit a command as a job, wait for its end, show where it ran
 *
 *   cc submit_wait.c $(pkg-config --cflags --libs penstock) -o submit_wait
 *   ./submit_wait --time=5 --ntasks=2 'hostname; sleep 1'
 *
 * Options are those of sbatch, written --NAME or --NAME=VALUE.  Ends as the job ended. */
#include <errno.h>
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void die(const penstock *p, const char *what)
{
    fprintf(stderr, "submit_wait: %s: %s\n", what, penstock_error(p));
    exit(EXIT_FAILURE);
}

static void set_option(penstock *p, penstock_job *job, const char *word)
{
    char *name = strdup(word + 2), *value;

    if (!name)
        exit(EXIT_FAILURE);
    value = strchr(name, '=');
    if (value)
        *value++ = '\0';
    if (penstock_job_set(job, name, value) < 0)
        die(p, word);
    free(name);
}

static void show_job(penstock *p, uint32_t id)
{
    penstock_query *q;
    penstock_row *row;
    char text[16];

    snprintf(text, sizeof(text), "%u", id);
    if (penstock_query_new(p, "jobs", &q) < 0 || penstock_query_filter(q, "job", text) < 0 ||
        penstock_query_fields(q, "id name shown_state nodelist exit_code") < 0)
        die(p, "query");
    while (penstock_query_next(q, &row) > 0)
        printf("%s\n", penstock_row_json(row));
    penstock_query_free(q);
}

int main(int argc, char **argv)
{
    penstock *p = penstock_new();
    penstock_job *job = p ? penstock_job_new(p) : NULL;
    int i = 1, status = 0;
    uint32_t id;

    if (!job)
        return EXIT_FAILURE;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++)
        set_option(p, job, argv[i]);
    if (i != argc - 1) {
        fprintf(stderr, "usage: submit_wait [--OPTION[=VALUE]...] COMMAND\n");
        return EXIT_FAILURE;
    }
    if (penstock_job_set(job, "wrap", argv[i]) < 0)
        die(p, "wrap");
    if (penstock_submit(p, job, &id) < 0)
        die(p, "submit");
    printf("job %u\n", id);
    fflush(stdout);
    if (penstock_wait(p, id, -1, &status) < 0)
        die(p, "wait");
    show_job(p, id);
    penstock_job_free(job);
    penstock_free(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
