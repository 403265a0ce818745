/* srun_mpi.c - srun between the MPI services of its nodes; see srun.h
 *
 * A meeting is over when each party's part has come; then all of them get all parts, in the
 * order they came.  Questions and answers go to the node they name.  The services have no
 * connections to each other, so a step needs no ports but those it is launched over. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/srun/srun.h"
#include "cli/job/tasks.h"

#define MET_MAX (15u << 20) /* what fits a frame */

struct meeting {
    struct meeting *next;
    char *set;
    uint32_t sequence, parties, came;
    uint32_t *nodes; /* those that came */
    struct strbuf data;
};

/* ---- the request ----------------------------------------------------------------------------- */

const char *srun_mpi_type(struct srun *s)
{
    const char *type = jobopts_get(&s->opts, JO_MPI);

    if (!type)
        type = conf_str(cli_conf(&s->cli), CONF_MPI_DEFAULT);
    if (!type || strcasecmp(type, "none") == 0)
        return NULL;
    return strncasecmp(type, "pmix", 4) == 0 ? "pmix"
           : strcasecmp(type, "pmi2") == 0   ? "pmi2"
                                             : type;
}

static Pst__StepPart *part_new(const struct srun *s, const struct srun_part *p)
{
    Pst__StepPart *part = xmalloc_or_die(sizeof(*part));
    const Pst__StepRecord *step = p->reply->step;
    const char *dist =
        step->distribution ? step->distribution : jobopts_get(&p->opts, JO_DISTRIBUTION);

    pst__step_part__init(part);
    part->nodes = step->alloc ? step->alloc->nodes : NULL;
    part->distribution = (char *)dist;
    part->has_offset = true;
    part->offset = p->offset;
    part->command = p->first < p->end ? p->argv[p->first] : NULL;
    part->n_counts = p->reply->n_nodes;
    part->counts = xmalloc_or_die((part->n_counts + 1) * sizeof(*part->counts));
    for (size_t i = 0; i < part->n_counts; i++)
        part->counts[i] = s->nodes[p->first_node + i].n_tasks;
    return part;
}

void srun_mpi_fill(struct srun *s, Pst__LaunchStep *req)
{
    const char *type = srun_mpi_type(s);

    /* without nodes it is a queued step: no srun is there to pass messages on */
    if (!type || !s->nodes)
        return;
    req->mpi = (char *)type;
    req->parts = xmalloc_or_die(s->n_parts * sizeof(*req->parts));
    for (size_t i = 0; i < s->n_parts; i++)
        req->parts[req->n_parts++] = part_new(s, &s->parts[i]);
}

void srun_mpi_free(Pst__LaunchStep *req)
{
    for (size_t i = 0; i < req->n_parts; i++) {
        free(req->parts[i]->counts);
        free(req->parts[i]);
    }
    free(req->parts);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void pass_on(struct srun *s, uint32_t node, const Pst__StepMpi *msg);

/* The tasks of this node have ended: fail the calls that wait for one of them. */
static void refuse_call(struct srun *s, const Pst__StepMpi *ask)
{
    Pst__StepMpi answer = PST__STEP_MPI__INIT;

    if (ask->kind != PST__STEP_MPI_KIND__MPI_ASK)
        return;
    answer.has_kind = answer.has_sequence = answer.has_node = answer.has_status = true;
    answer.kind = PST__STEP_MPI_KIND__MPI_ANSWER;
    answer.sequence = ask->sequence;
    answer.node = ask->from;
    answer.status = -1;
    pass_on(s, ask->from, &answer);
}

static void pass_on(struct srun *s, uint32_t node, const Pst__StepMpi *msg)
{
    struct srun_node *n = node < s->n_nodes ? &s->nodes[node] : NULL;
    int r;

    if (!n || n->done) {
        refuse_call(s, msg);
        return;
    }
    r = srun_node_send(s, n, OP_STEP_MPI, &msg->base);
    if (r < 0)
        srun_node_failed(s, n, strerror(-r));
}

static struct meeting *meeting_of(struct srun *s, const Pst__StepMpi *msg)
{
    struct meeting *m = s->meetings;

    while (m && (m->sequence != msg->sequence || strcmp(m->set, msg->set) != 0))
        m = m->next;
    if (m)
        return m;
    m = xmalloc_or_die(sizeof(*m));
    *m = (struct meeting){ .next = s->meetings,
                           .set = xstrdup_or_die(msg->set),
                           .sequence = msg->sequence,
                           .parties = msg->parties,
                           .data = STRBUF_INIT };
    m->nodes = xmalloc_or_die(m->parties * sizeof(*m->nodes));
    s->meetings = m;
    return m;
}

static void meeting_free(struct srun *s, struct meeting *m)
{
    struct meeting **p = &s->meetings;

    while (*p != m)
        p = &(*p)->next;
    *p = m->next;
    strbuf_done(&m->data);
    free(m->nodes);
    free(m->set);
    free(m);
}

static void meeting_over(struct srun *s, struct meeting *m)
{
    Pst__StepMpi met = PST__STEP_MPI__INIT;

    met.has_kind = met.has_sequence = met.has_data = true;
    met.kind = PST__STEP_MPI_KIND__MPI_MET;
    met.set = m->set;
    met.sequence = m->sequence;
    met.data.data = (uint8_t *)m->data.buf;
    met.data.len = m->data.len;
    for (uint32_t i = 0; i < m->came; i++)
        pass_on(s, m->nodes[i], &met);
    meeting_free(s, m);
}

static void meet_tasks(struct srun *s, const struct srun_node *n, const Pst__StepMpi *msg)
{
    struct meeting *m;

    if (!msg->set || msg->parties == 0 || msg->parties > s->n_nodes)
        return;
    m = meeting_of(s, msg);
    m->nodes[m->came++] = (uint32_t)(n - s->nodes);
    strbuf_addn(&m->data, msg->data.data, msg->data.len);
    if (m->data.failed)
        check_mem_or_die(-ENOMEM);
    if (m->data.len > MET_MAX) {
        cli_error("MPI: the tasks exchange more than %u MiB at once", MET_MAX >> 20);
        srun_note_exit(s, CLI_EXIT_FAILED, CLI_EXIT_FAILED << 8);
        srun_terminate(s);
        meeting_free(s, m);
    } else if (m->came == m->parties) {
        meeting_over(s, m);
    }
}

static void tell_aborted(struct srun *s, const struct srun_node *n, const Pst__StepMpi *msg)
{
    int code = msg->status ? msg->status & 0xff : CLI_EXIT_FAILED;

    cli_error("%s: task %u: MPI abort with code %d%s%s", n->name, msg->rank, code,
              msg->text ? ": " : "", msg->text ? msg->text : "");
    srun_note_exit(s, code, (uint32_t)code << 8);
    srun_terminate(s);
}

void srun_mpi_message(struct srun *s, struct srun_node *n, const Pst__StepMpi *msg)
{
    switch (msg->kind) {
    case PST__STEP_MPI_KIND__MPI_MEET:
        meet_tasks(s, n, msg);
        break;
    case PST__STEP_MPI_KIND__MPI_ASK:
    case PST__STEP_MPI_KIND__MPI_ANSWER:
        pass_on(s, msg->node, msg);
        break;
    case PST__STEP_MPI_KIND__MPI_ABORT:
        tell_aborted(s, n, msg);
        break;
    default:
        break; /* of a newer release */
    }
}
