/* h5lib.h - libhdf5, loaded when it is needed: the functions that are used here
 *
 * The library's interface as its reference manual has it, since release 1.10, whose identifiers
 * are 64 bits wide.  Functions that give a hid_t or an int say < 0 when they failed; the library
 * prints nothing.  One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

typedef int64_t h5_id;
typedef unsigned long long h5_size;

enum {                    /* values of the library */
       H5_DEFAULT = 0,    /* any list of properties */
       H5_READ = 0,       /* of f_open() */
       H5_TRUNCATE = 2,   /* of f_create() */
       H5_GLOBAL = 1,     /* of f_flush() */
       H5_CLASS_INT = 0,  /* of a type */
       H5_CLASS_REAL = 1, /* of a type */
       H5_COMPOUND = 6,   /* of t_create() */
       H5_SELECT_SET = 0,
       H5_BY_NAME = 0,    /* an index */
       H5_INCREASING = 0, /* its order */
};

struct h5_group_info {
    int storage;
    h5_size links;
    int64_t max_order;
    bool mounted;
};

struct h5_api {
    int (*open)(void);
    int (*version)(unsigned *major, unsigned *minor, unsigned *release);
    int (*e_set_auto)(h5_id stack, void *fn, void *ctx);
    int (*free_memory)(void *p);
    h5_id (*p_create)(h5_id class_id);
    int (*p_close)(h5_id p);
    int (*p_set_core)(h5_id p, size_t step, bool backing);
    h5_id (*f_create)(const char *path, unsigned flags, h5_id create, h5_id access);
    h5_id (*f_open)(const char *path, unsigned flags, h5_id access);
    int (*f_flush)(h5_id f, int scope);
    ssize_t (*f_image)(h5_id f, void *buf, size_t size);
    int (*f_close)(h5_id f);
    h5_id (*g_create)(h5_id at, const char *name, h5_id link, h5_id create, h5_id access);
    h5_id (*g_open)(h5_id at, const char *name, h5_id access);
    int (*g_info)(h5_id g, struct h5_group_info *info);
    int (*g_close)(h5_id g);
    ssize_t (*l_name)(h5_id at, const char *group, int index, int order, h5_size n, char *buf,
                      size_t size, h5_id access);
    int (*l_exists)(h5_id at, const char *name, h5_id access);
    int (*o_copy)(h5_id from, const char *name, h5_id to, const char *new_name, h5_id copy,
                  h5_id link);
    h5_id (*s_create)(int rank, const h5_size *sizes, const h5_size *most);
    int (*s_select)(h5_id s, int how, const h5_size *start, const h5_size *stride,
                    const h5_size *count, const h5_size *block);
    int (*s_rank)(h5_id s);
    int64_t (*s_points)(h5_id s);
    int (*s_close)(h5_id s);
    h5_id (*d_create)(h5_id at, const char *name, h5_id type, h5_id space, h5_id link, h5_id create,
                      h5_id access);
    h5_id (*d_open)(h5_id at, const char *name, h5_id access);
    h5_id (*d_space)(h5_id d);
    h5_id (*d_type)(h5_id d);
    int (*d_write)(h5_id d, h5_id type, h5_id in_memory, h5_id in_file, h5_id transfer,
                   const void *buf);
    int (*d_read)(h5_id d, h5_id type, h5_id in_memory, h5_id in_file, h5_id transfer, void *buf);
    int (*d_close)(h5_id d);
    h5_id (*t_create)(int class_id, size_t size);
    int (*t_insert)(h5_id t, const char *name, size_t at, h5_id member);
    h5_id (*t_copy)(h5_id t);
    int (*t_set_size)(h5_id t, size_t size);
    int (*t_class)(h5_id t);
    int (*t_members)(h5_id t);
    char *(*t_member_name)(h5_id t, unsigned i); /* free_memory() releases it */
    int (*t_member_class)(h5_id t, unsigned i);
    int (*t_close)(h5_id t);
    h5_id (*a_create)(h5_id at, const char *name, h5_id type, h5_id space, h5_id create,
                      h5_id access);
    int (*a_write)(h5_id a, h5_id type, const void *buf);
    int (*a_close)(h5_id a);
    const h5_id *file_access, *uint64, *real, *text; /* set by open() */
};

/* what: the configuration or command that needs the library, as sentences name it.
 * -ENOENT: there is no libhdf5; -ENOSYS: it lacks a function or is too old. */
int h5_api_load(struct h5_api *api, const char *what, struct err *err);
