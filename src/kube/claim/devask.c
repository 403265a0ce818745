/* devask.c - see devask.h */
#include "kube/claim/devask.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubequantity.h"

static const json_t *find_ask(const json_t *asks, const char *class)
{
    size_t i;
    json_t *one;

    json_array_foreach(asks, i, one)
    {
        if (strcmp(kubejson_text(one, "class"), class) == 0)
            return one;
    }
    return NULL;
}

/* One resource of a container: its requests and limits say the same. */
static int add_ask(json_t *asks, const char *container, const char *resource, const json_t *value,
                   struct err *err)
{
    const char *class = kubejson_after(resource, DEVASK_PREFIX);
    const json_t *known;
    int64_t milli;

    if (!class)
        return 0;
    if (!kubejson_name_is_good(class) ||
        (strcmp(class, DEVASK_CPU) != 0 && !kubejson_after(class, DEVASK_GPU)))
        return err_set(err, -EINVAL,
                       "the resource %.200s: the device classes " DEVASK_CPU " and " DEVASK_GPU
                       "* are known",
                       resource);
    if (kubequantity_read(value, &milli) < 0 || milli % 1000 != 0 ||
        milli / 1000 > (int64_t)DEVASK_MOST)
        return err_set(err, -EINVAL, "the resource %.200s: a count of 0 to %u is wanted", resource,
                       DEVASK_MOST);
    if (milli == 0)
        return 0;
    known = find_ask(asks, class);
    if (known && strcmp(kubejson_text(known, "container"), container) != 0)
        return err_set(err, -EINVAL, "the resource %.200s: one container of a pod may ask for it",
                       resource);
    if (known)
        return kubejson_int(known, "count", 0) == milli / 1000
                   ? 0
                   : err_set(err, -EINVAL, "the resource %.200s: request and limit differ",
                             resource);
    return json_array_append_new(asks, json_pack("{s:s, s:s, s:s, s:I}", "class", class,
                                                 "container", container, "resource", resource,
                                                 "count", (json_int_t)(milli / 1000))) < 0
               ? err_nomem(err)
               : 0;
}

static int add_containers(json_t *asks, const json_t *list, struct err *err)
{
    static const char *const parts[] = { "resources.requests", "resources.limits" };
    size_t i;
    const char *name;
    json_t *one, *value;
    int r = 0;

    json_array_foreach(list, i, one)
    {
        for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
            json_object_foreach((json_t *)(uintptr_t)kubejson_at(one, parts[k]), name, value)
            {
                if (r == 0)
                    r = add_ask(asks, kubejson_text(one, "name"), name, value, err);
            }
        }
    }
    return r;
}

int devask_read(const json_t *pod, json_t **ret, struct err *err)
{
    _cleanup_json_ json_t *asks = json_array();
    int64_t total = 0;
    size_t i;
    json_t *one;
    int r =
        asks ? add_containers(asks, kubejson_at(pod, "spec.initContainers"), err) : err_nomem(err);

    if (r == 0)
        r = add_containers(asks, kubejson_at(pod, "spec.containers"), err);
    json_array_foreach(asks, i, one) total += kubejson_int(one, "count", 0);
    if (r == 0 && total > (int64_t)DEVASK_MOST)
        r = err_set(err, -EINVAL, "%lld devices: a claim holds %u", (long long)total, DEVASK_MOST);
    if (r == 0)
        *ret = TAKE_PTR(asks);
    return r;
}

static int64_t count_class(const json_t *asks, const char *class)
{
    int64_t n = 0;
    size_t i;
    json_t *one;

    json_array_foreach(asks, i, one)
    {
        if (strcmp(kubejson_text(one, "class"), class) == 0)
            n += kubejson_int(one, "count", 0);
    }
    return n;
}

int64_t devask_cpus(const json_t *asks)
{
    return count_class(asks, DEVASK_CPU);
}

int devask_raise(json_t *most, const json_t *asks)
{
    size_t i;
    json_t *one;

    json_array_foreach(asks, i, one)
    {
        const char *class = kubejson_text(one, "class");
        json_int_t have = json_integer_value(json_object_get(most, class));
        json_int_t want = count_class(asks, class);

        if (strcmp(class, DEVASK_CPU) != 0 && want > have &&
            json_object_set_new(most, class, json_integer(want)) < 0)
            return -ENOMEM;
    }
    return 0;
}

void devask_write(const json_t *most, struct strbuf *out)
{
    const char *class;
    json_t *count;

    json_object_foreach((json_t *)(uintptr_t)most, class, count)
    {
        strbuf_addf(out, "%sgres/gpu:%s=%lld", out->len ? "," : "", class,
                    (long long)json_integer_value(count));
    }
}
