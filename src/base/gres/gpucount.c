/* gpucount.c - see gpucount.h.  The sentences are those that users know. */
#include "base/gres/gpucount.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"

struct counts {
    uint64_t job, node, socket, task;
    bool has_job, has_node, has_socket, has_task; /* said, and not 0 */
};

static struct counts counts_of(const struct gpucount *c)
{
    struct counts n = { 0 };

    n.job = gres_text_count(c->per_job, "gpu", NULL, NULL);
    n.node = gres_text_count(c->per_node, "gpu", NULL, NULL);
    n.socket = gres_text_count(c->per_socket, "gpu", NULL, NULL);
    n.task = gres_text_count(c->per_task, "gpu", NULL, NULL);
    n.has_job = n.job > 0;
    n.has_node = n.node > 0;
    n.has_socket = n.socket > 0;
    n.has_task = n.task > 0;
    return n;
}

static int check_by_gpu(const struct gpucount *c, bool any, struct err *err)
{
    if (!any && c->mem_per_gpu_mib)
        return err_set(err, -EINVAL,
                       "Requested mem_per_tres=gres/gpu:%llu but did not request any GPU.",
                       (unsigned long long)c->mem_per_gpu_mib);
    if (!any && c->cpus_per_gpu)
        return err_set(err, -EINVAL,
                       "Requested cpus_per_tres=gres/gpu:%u but did not request any GPU.",
                       c->cpus_per_gpu);
    return 0;
}

static int check_order(const struct counts *n, uint32_t sockets, struct err *err)
{
    if ((n->has_job && n->has_task && n->job < n->task) ||
        (n->has_node && n->has_task && n->node < n->task))
        return err_set(err, -EINVAL, "Failed to ensure --gpus >= --gpus-per-task");
    if (n->has_job && n->has_node && n->job < n->node)
        return err_set(err, -EINVAL, "Failed to ensure --gpus >= --gpus-per-node");
    if (n->has_job && n->has_socket && n->job < n->socket)
        return err_set(err, -EINVAL, "Failed to ensure --gpus >= --gpus-per-socket");
    if (n->has_job && n->has_node && n->job % n->node)
        return err_set(
            err, -EINVAL,
            "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node");
    if (n->has_job && n->has_task && n->job % n->task)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec, --gpus not multiple of --gpus-per-task");
    if (n->has_job && n->has_socket && n->job % n->socket)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec, --gpus not multiple of --gpus-per-socket");
    if (n->has_node && n->has_socket && n->node != n->socket * sockets)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec, --gpus-per-node is not what "
                       "--gpus-per-socket and --sockets-per-node give");
    return 0;
}

/* GPUs of the job and of a node: how many nodes. */
static int settle_nodes(struct gpucount *c, const struct counts *n, struct err *err)
{
    uint64_t nodes;
    uint32_t min = c->min_nodes ? c->min_nodes : 1;

    if (!n->has_job || !n->has_node)
        return 0;
    nodes = n->job / n->node;
    if (nodes < min || (c->max_nodes && nodes > c->max_nodes) || nodes > INT32_MAX)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node "
                       "required nodes (%llu) doesn't fall between min_nodes (%u) and max_nodes "
                       "(%u) boundaries.",
                       (unsigned long long)nodes, min, c->max_nodes);
    c->min_nodes = c->max_nodes = (uint32_t)nodes;
    return 0;
}

static int settle_tasks(struct gpucount *c, const struct counts *n, struct err *err)
{
    uint64_t tasks = 0;

    if (!n->has_task)
        return 0;
    if (n->has_job)
        tasks = n->job / n->task;
    else if (!c->tasks && n->has_node)
        tasks = n->node / n->task * MAX(c->min_nodes, 1u);
    else if (!c->tasks)
        tasks = (uint64_t)c->min_nodes * MAX(c->tasks_per_node, 1u);
    if (n->has_job && c->tasks && tasks != c->tasks)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec. Based on --gpus and --gpus-per-task number of "
                       "requested tasks differ from -n/--ntasks.");
    if (!c->tasks && !tasks)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec. --gpus-per-task or --tres-per-task used "
                       "without either --gpus or -n/--ntasks is not allowed.");
    if (!c->tasks)
        c->tasks = (uint32_t)MIN(tasks, (uint64_t)INT32_MAX);
    return 0;
}

/* --ntasks-per-gpu: tasks follow from the GPUs, or GPUs from the tasks. */
static int settle_tasks_per_gpu(struct gpucount *c, const struct counts *n, struct err *err)
{
    uint64_t gpus = n->has_job ? n->job : n->has_node ? n->node * MAX(c->min_nodes, 1u) : 0;

    if (!c->tasks_per_gpu)
        return 0;
    if (gpus && !c->tasks) {
        c->tasks = (uint32_t)MIN(gpus * c->tasks_per_gpu, (uint64_t)INT32_MAX);
        return 0;
    }
    if (gpus || n->has_task || n->has_socket)
        return 0;
    if (!c->tasks)
        c->tasks = c->min_nodes;
    if (!c->tasks)
        return err_set(err, -EINVAL,
                       "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU "
                       "specification or a node/ntask specification");
    if (c->tasks % c->tasks_per_gpu)
        return err_set(err, -EINVAL,
                       "Failed to validate job spec, -n/--ntasks has to be a multiple of "
                       "--ntasks-per-gpu.");
    c->gpus = c->tasks / c->tasks_per_gpu;
    return 0;
}

int gpucount_settle(struct gpucount *c, struct err *err)
{
    struct counts n = counts_of(c);
    int r = 0;

    c->gpus = 0;
    if (n.has_socket && !c->sockets)
        return err_set(err, -EINVAL,
                       "--gpus-per-socket option requires --sockets-per-node specification");
    r = check_order(&n, c->sockets, err);
    r = r < 0 ? r : settle_nodes(c, &n, err);
    r = r < 0 ? r : settle_tasks(c, &n, err);
    r = r < 0 ? r : settle_tasks_per_gpu(c, &n, err);
    return r < 0 ? r
                 : check_by_gpu(c, n.has_job || n.has_node || n.has_socket || n.has_task || c->gpus,
                                err);
}
