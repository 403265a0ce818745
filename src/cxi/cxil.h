/* cxil.h - the interface of libcxi.so.1, as far as it is used
 *
 * Facts of the library's public headers (libcxi.h, uapi/misc/cxi.h; manual page cxi_service(7)):
 * layouts must be the library's.  Functions return 0 or a positive id, or a negative errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CXIL_LIBRARY "libcxi.so.1"
#define CXIL_VNIS 4        /* of a service at most */
#define CXIL_MEMBERS 2     /* users or groups of a service */
#define CXIL_CLASSES 5     /* four traffic classes, and Ethernet's */
#define CXIL_RESOURCES 8   /* PTE, TXQ, TGQ, EQ, CT, LE, TLE, AC: enum slingshot_resource */
#define CXIL_DEFAULT_SVC 1 /* the service that is everybody's */
#define CXIL_MEMBER_UID 1
#define CXIL_PROCESSES 252 /* of a node that need not share a resource group */

struct cxil_limits {
    uint16_t max, res;
};

struct cxil_svc {
    uint8_t restricted_members : 1, restricted_vnis : 1, restricted_tcs : 1, resource_limits : 1,
        enable : 1, is_system_svc : 1, cntr_pool_id : 2;
    uint8_t num_vld_vnis;
    uint16_t vnis[CXIL_VNIS];
    bool tcs[CXIL_CLASSES];
    struct {
        union {
            uid_t uid;
            gid_t gid;
        } member;
        int type;
    } members[CXIL_MEMBERS];
    struct cxil_limits limits[CXIL_RESOURCES];
    unsigned svc_id;
};

struct cxil_svc_list {
    unsigned count;
    struct cxil_svc descs[];
};

struct cxil_use { /* of a service */
    unsigned svc_id, tle_pool_id;
    uint16_t in_use[CXIL_RESOURCES];
};

struct cxil_failure { /* why there was no service */
    uint16_t available[CXIL_RESOURCES];
    bool no_le_pools, no_tle_pools, no_cntr_pools;
};

/* The first members of an open device. */
struct cxil_dev {
    unsigned dev_id, nid, pid_bits, pid_count, pid_granule, min_free_shift, rdzv_get_idx;
    char device_name[14], driver_name[9];
    unsigned vendor_id, device_id, device_rev, device_proto, device_platform;
    uint16_t num_ptes, num_txqs, num_tgqs, num_eqs, num_cts, num_acs, num_tles, num_les;
};

struct cxil {
    int (*open)(uint32_t dev_id, struct cxil_dev **ret);
    void (*close)(struct cxil_dev *dev);
    int (*alloc)(struct cxil_dev *dev, const struct cxil_svc *svc, struct cxil_failure *fail);
    int (*update)(struct cxil_dev *dev, const struct cxil_svc *svc, struct cxil_failure *fail);
    int (*destroy)(struct cxil_dev *dev, unsigned svc_id);
    int (*list)(struct cxil_dev *dev, struct cxil_svc_list **ret);
    void (*list_free)(struct cxil_svc_list *list);
    int (*use)(struct cxil_dev *dev, unsigned svc_id, struct cxil_use *ret);
    /* Processes that share a resource group; NULL: the library is too old. */
    int (*share)(struct cxil_dev *dev, unsigned svc_id, unsigned processes);
};
