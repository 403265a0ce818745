/* srun_nodes.c - sending to the nodes of the step, and which of them are done; see srun.h */
#include <errno.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "cli/srun/srun.h"

static struct fan_link *srun_link(const struct srun *s, const struct srun_node *n)
{
    return s->fans ? fanout_find(&s->fans[n->part - s->parts], (uint32_t)(n - s->nodes)) : NULL;
}

void srun_note_exit(struct srun *s, int code, uint32_t status)
{
    if (code > s->exit_code || (code == s->exit_code && !s->worst_status)) {
        s->exit_code = code;
        s->worst_status = status;
    }
}

void srun_unlaunched(struct srun *s, uint32_t exit_status)
{
    if (s->own_job || s->no_job)
        return; /* the step ends with the job, or nobody knows of it */
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].reply)
            joblink_end_step(&s->link, s->parts[i].reply->step->job_id,
                             s->parts[i].reply->step->step_id, exit_status);
}

/* Note that n is done.  Close its link when all nodes behind the link are done. */
void srun_node_done(struct srun *s, struct srun_node *n)
{
    struct fan_link *l = srun_link(s, n);

    if (n->done)
        return;
    n->done = true;
    s->n_done++;
    if (!l)
        return;
    for (uint32_t i = l->lo; i <= l->hi; i++)
        if (!s->nodes[i].done)
            return;
    l->client = client_free(l->client);
}

int srun_node_send(struct srun *s, const struct srun_node *n, unsigned op,
                   const ProtobufCMessage *msg)
{
    struct fan_link *l = srun_link(s, n);
    uint32_t number = (uint32_t)(n - s->nodes);

    return l ? fanout_send(l, number, number, op, msg) : -EPIPE;
}

/* A node that has not got as far might miss what is sent. */
static bool may_send(const struct srun *s, const struct srun_node *n, srun_choose_fn *chosen)
{
    return (n->listens || n->started) && !n->done && (!chosen || chosen(s, n));
}

/* May all nodes of a link get it in one frame? */
static bool all_chosen(const struct srun *s, const struct fan_link *l, srun_choose_fn *chosen)
{
    for (uint32_t i = l->lo; i <= l->hi; i++) {
        if (!s->nodes[i].done && !may_send(s, &s->nodes[i], chosen))
            return false;
    }
    return true;
}

static void link_send(struct srun *s, struct fan_link *l, srun_choose_fn *chosen, unsigned op,
                      const ProtobufCMessage *msg)
{
    if (all_chosen(s, l, chosen)) {
        (void)fanout_send(l, l->lo, l->hi, op, msg); /* a lost node is noticed when it is read */
        return;
    }
    for (uint32_t i = l->lo; i <= l->hi && l->client; i++) {
        if (may_send(s, &s->nodes[i], chosen))
            (void)fanout_send(l, i, i, op, msg); /* as above */
    }
}

void srun_nodes_send(struct srun *s, srun_choose_fn *chosen, unsigned op,
                     const ProtobufCMessage *msg)
{
    for (size_t i = 0; s->fans && i < s->n_parts; i++)
        for (size_t k = 0; k < s->fans[i].n_links; k++)
            if (s->fans[i].links[k].client)
                link_send(s, &s->fans[i].links[k], chosen, op, msg);
}

void srun_part_send(struct srun *s, const struct srun_part *part, unsigned op,
                    const ProtobufCMessage *msg)
{
    struct fanout *fan = s->fans ? &s->fans[part - s->parts] : NULL;

    for (size_t k = 0; fan && k < fan->n_links; k++)
        if (fan->links[k].client)
            link_send(s, &fan->links[k], NULL, op, msg);
}

char *srun_all_nodes(const struct srun *s)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    char *text = NULL;

    check_mem_or_die(hostlist_new(&all));
    for (size_t i = 0; i < s->n_nodes; i++)
        if (hostlist_push_list(all, s->nodes[i].name, NULL) < 0)
            cli_die(cli_error_status(), "Invalid node list: %.200s", s->nodes[i].name);
    hostlist_uniq(all);
    check_mem_or_die(hostlist_fold(all, &text));
    return text;
}
