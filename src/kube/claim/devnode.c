/* devnode.c - see devnode.h */
#include "kube/claim/devnode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/claim/devask.h"

#define NAMES_MOST 512u
#define DRIVERS_MOST 16u

const json_t *devnode_attribute(const json_t *device, const char *driver, const char *name,
                                const char *type)
{
    const json_t *all = json_object_get(device, "attributes");
    const json_t *value = json_object_get(all, name);
    char key[NAMES_MOST];

    if (!value) {
        (void)snprintf(key, sizeof(key), "%s/%s", driver, name);
        value = json_object_get(all, key);
    }
    return json_object_get(value, type);
}

static int64_t read_number(const json_t *device, const char *driver, const char *name)
{
    const json_t *value = devnode_attribute(device, driver, name, "int");

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static bool is_of(const json_t *slice, const char *driver)
{
    return strcmp(kubejson_text(slice, "spec.driver"), driver) == 0;
}

/* The newest generation of the pool, and whether all of its slices are there. */
static bool is_whole(const json_t *slices, const char *driver, const char *pool, int64_t *newest)
{
    int64_t count = 0, wanted = 0;
    size_t i;
    json_t *one;

    *newest = -1;
    json_array_foreach(slices, i, one)
    {
        int64_t generation = kubejson_int(one, "spec.pool.generation", 0);

        if (!is_of(one, driver) || strcmp(kubejson_text(one, "spec.pool.name"), pool) != 0)
            continue;
        if (generation > *newest) {
            *newest = generation;
            count = 0;
        }
        if (generation == *newest) {
            count++;
            wanted = kubejson_int(one, "spec.pool.resourceSliceCount", 1);
        }
    }
    return count == wanted;
}

static int add_slice(json_t *all, const json_t *slice, const char *driver)
{
    const char *pool = kubejson_text(slice, "spec.pool.name");
    size_t i;
    json_t *device;

    json_array_foreach(kubejson_at(slice, "spec.devices"), i, device)
    {
        const char *name = kubejson_text(device, "name");
        json_t *attributes = json_object_get(device, "attributes"), *one;
        int64_t index;

        if (!*name)
            continue;
        one = json_pack("{s:s, s:s, s:O*}", "pool", pool, "device", name, "attributes", attributes);
        index = read_number(one, driver, "index");
        if (index < 0) { /* gpu-0 */
            const char *digits = name + strlen(name);

            while (digits > name && strchr("0123456789", digits[-1]))
                digits--;
            if (parse_i64(digits, 0, INT32_MAX, &index) < 0)
                index = INT32_MAX;
        }
        if (!one || json_object_set_new(one, "place", json_integer(index)) < 0 ||
            json_array_append_new(all, one) < 0)
            return -1;
    }
    return 0;
}

/* A list that can be sorted: pointers of a JSON array, put back in their new order. */
static json_t *sort_list(json_t *list, int (*compare)(const void *, const void *))
{
    size_t n = json_array_size(list), i;
    json_t **items = calloc(n + 1, sizeof(*items)), *sorted = json_array();

    for (i = 0; items && i < n; i++)
        items[i] = json_array_get(list, i);
    if (items)
        qsort(items, n, sizeof(*items), compare);
    for (i = 0; items && sorted && i < n; i++) {
        if (json_array_append(sorted, items[i]) < 0) {
            json_decref(sorted);
            sorted = NULL;
        }
    }
    if (!items) {
        json_decref(sorted);
        sorted = NULL;
    }
    free(items);
    json_decref(list);
    return sorted;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int r = compare_numbers(kubejson_int(x, "place", 0), kubejson_int(y, "place", 0));

    r = r ? r : strcmp(kubejson_text(x, "pool"), kubejson_text(y, "pool"));
    return r ? r : strcmp(kubejson_text(x, "device"), kubejson_text(y, "device"));
}

/* The slices as an array, whatever holds them. */
static json_t *list_slices(const json_t *slices)
{
    json_t *all = json_array(), *one;
    const char *key;
    size_t i;
    int r = all ? 0 : -1;

    json_array_foreach(slices, i, one)
    {
        r = r < 0 ? r : json_array_append(all, one);
    }
    json_object_foreach((json_t *)(uintptr_t)slices, key, one)
    {
        r = r < 0 ? r : json_array_append(all, one);
    }
    if (r == 0)
        return all;
    json_decref(all);
    return NULL;
}

json_t *devnode_list(const json_t *slices, const char *driver)
{
    _cleanup_json_ json_t *all = list_slices(slices), *devices = json_array();
    size_t i;
    json_t *one;

    if (!all || !devices)
        return NULL;
    json_array_foreach(all, i, one)
    {
        int64_t newest;

        if (!is_of(one, driver) ||
            !is_whole(all, driver, kubejson_text(one, "spec.pool.name"), &newest) ||
            kubejson_int(one, "spec.pool.generation", 0) != newest)
            continue;
        if (add_slice(devices, one, driver) < 0)
            return NULL;
    }
    return sort_list(TAKE_PTR(devices), compare_places);
}

json_t *devnode_gpus(const json_t *slices, const char *driver)
{
    json_t *all = devnode_list(slices, driver);

    for (size_t i = json_array_size(all); i > 0; i--) {
        const char *type = json_string_value(
            devnode_attribute(json_array_get(all, i - 1), driver, "type", "string"));

        if (type && strcmp(type, "gpu") != 0)
            (void)json_array_remove(all, i - 1);
    }
    return all;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static int compare_cpus(const void *a, const void *b)
{
    static const char *const names[] = { "socketID", "coreID", "cpuID" };
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
        r = compare_numbers(read_number(x, DEVASK_CPU, names[i]),
                            read_number(y, DEVASK_CPU, names[i]));
    return r;
}

static bool is_usable(const json_t *cpu)
{
    const char *type = json_string_value(devnode_attribute(cpu, DEVASK_CPU, "coreType", "string"));

    return read_number(cpu, DEVASK_CPU, "cpuID") >= 0 &&
           read_number(cpu, DEVASK_CPU, "coreID") >= 0 &&
           !(type && (strcasecmp(type, "e-core") == 0 || strcasecmp(type, "efficiency") == 0));
}

static bool is_same_core(const json_t *a, const json_t *b)
{
    return a && read_number(a, DEVASK_CPU, "socketID") == read_number(b, DEVASK_CPU, "socketID") &&
           read_number(a, DEVASK_CPU, "coreID") == read_number(b, DEVASK_CPU, "coreID");
}

json_t *devnode_cores(const json_t *slices)
{
    _cleanup_json_ json_t *cpus = devnode_list(slices, DEVASK_CPU), *cores = json_array();
    const json_t *last = NULL;
    size_t i;
    json_t *cpu;

    if (!cpus || !cores)
        return NULL;
    cpus = sort_list(TAKE_PTR(cpus), compare_cpus);
    json_array_foreach(cpus, i, cpu)
    {
        if (!is_usable(cpu))
            continue;
        if (!is_same_core(last, cpu) && json_array_append_new(cores, json_array()) < 0)
            return NULL;
        if (json_array_append(json_array_get(cores, json_array_size(cores) - 1), cpu) < 0)
            return NULL;
        last = cpu;
    }
    return cpus ? TAKE_PTR(cores) : NULL;
}

/* ---- GRES ------------------------------------------------------------------------------------ */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(json_string_value(*(json_t *const *)a), json_string_value(*(json_t *const *)b));
}

/* The drivers of GPUs, in the order of their names. */
static json_t *list_drivers(const json_t *slices)
{
    _cleanup_json_ json_t *all = list_slices(slices), *seen = json_object();
    json_t *drivers = json_array(), *one;
    size_t i;
    bool failed = !all || !seen || !drivers;

    json_array_foreach(all, i, one)
    {
        const char *driver = kubejson_text(one, "spec.driver");

        if (!kubejson_after(driver, DEVASK_GPU) || !kubejson_name_is_good(driver) ||
            json_object_get(seen, driver) || json_object_size(seen) >= DRIVERS_MOST)
            continue;
        failed = failed || json_object_set_new(seen, driver, json_true()) < 0 ||
                 json_array_append_new(drivers, json_string(driver)) < 0;
    }
    if (!failed)
        return sort_list(drivers, compare_texts);
    json_decref(drivers);
    return NULL;
}

void devnode_write_gres(const json_t *slices, struct strbuf *out)
{
    _cleanup_json_ json_t *drivers = list_drivers(slices);
    size_t i;
    json_t *one;

    out->failed = out->failed || !drivers;
    json_array_foreach(drivers, i, one)
    {
        const char *driver = json_string_value(one);
        _cleanup_json_ json_t *gpus = devnode_gpus(slices, driver);

        out->failed = out->failed || !gpus;
        if (json_array_size(gpus))
            strbuf_addf(out, "%sgpu:%s:%zu", out->len ? "," : "", driver, json_array_size(gpus));
    }
}
