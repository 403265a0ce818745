/* h5lib.c - see h5lib.h
 *
 * Debian names the library after how it was built; its number grows with the releases. */
#include "h5/h5lib.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"

#define PACKAGE "libhdf5-103-1"

static int load_file(struct h5_api *a, const char *file, const char *what, struct err *err)
{
    const struct loadlib_symbol symbols[] = {
        { "H5open", &a->open },
        { "H5get_libversion", &a->version },
        { "H5Eset_auto2", &a->e_set_auto },
        { "H5free_memory", &a->free_memory },
        { "H5Pcreate", &a->p_create },
        { "H5Pclose", &a->p_close },
        { "H5Pset_fapl_core", &a->p_set_core },
        { "H5Fcreate", &a->f_create },
        { "H5Fopen", &a->f_open },
        { "H5Fflush", &a->f_flush },
        { "H5Fget_file_image", &a->f_image },
        { "H5Fclose", &a->f_close },
        { "H5Gcreate2", &a->g_create },
        { "H5Gopen2", &a->g_open },
        { "H5Gget_info", &a->g_info },
        { "H5Gclose", &a->g_close },
        { "H5Lget_name_by_idx", &a->l_name },
        { "H5Lexists", &a->l_exists },
        { "H5Ocopy", &a->o_copy },
        { "H5Screate_simple", &a->s_create },
        { "H5Sselect_hyperslab", &a->s_select },
        { "H5Sget_simple_extent_ndims", &a->s_rank },
        { "H5Sget_simple_extent_npoints", &a->s_points },
        { "H5Sclose", &a->s_close },
        { "H5Dcreate2", &a->d_create },
        { "H5Dopen2", &a->d_open },
        { "H5Dget_space", &a->d_space },
        { "H5Dget_type", &a->d_type },
        { "H5Dwrite", &a->d_write },
        { "H5Dread", &a->d_read },
        { "H5Dclose", &a->d_close },
        { "H5Tcreate", &a->t_create },
        { "H5Tinsert", &a->t_insert },
        { "H5Tcopy", &a->t_copy },
        { "H5Tset_size", &a->t_set_size },
        { "H5Tget_class", &a->t_class },
        { "H5Tget_nmembers", &a->t_members },
        { "H5Tget_member_name", &a->t_member_name },
        { "H5Tget_member_class", &a->t_member_class },
        { "H5Tclose", &a->t_close },
        { "H5Acreate2", &a->a_create },
        { "H5Awrite", &a->a_write },
        { "H5Aclose", &a->a_close },
        { "H5P_CLS_FILE_ACCESS_ID_g", &a->file_access },
        { "H5T_NATIVE_UINT64_g", &a->uint64 },
        { "H5T_NATIVE_DOUBLE_g", &a->real },
        { "H5T_C_S1_g", &a->text },
    };

    return loadlib(what, file, PACKAGE, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), err);
}

int h5_api_load(struct h5_api *api, const char *what, struct err *err)
{
    static const char *const files[] = { "libhdf5_serial.so.310", "libhdf5.so.310",
                                         "libhdf5.so.103", "libhdf5_serial.so.103" };
    unsigned major, minor, release;
    int r = -ENOENT;

    for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(files); i++)
        r = load_file(api, files[i], what, err);
    if (r < 0)
        return r;
    if (api->open() < 0 || api->version(&major, &minor, &release) < 0 || (major == 1 && minor < 10))
        return err_set(err, -ENOSYS, "%s: libhdf5 is older than release 1.10", what);
    (void)api->e_set_auto(0, NULL, NULL); /* it would print */
    return 0;
}
