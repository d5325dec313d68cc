// libsluice_rocksdb_preload: the databases of an unmodified program use the service
// (docs/rocksdb.md).
//
// All that opens a database for writing ends in DBImpl::Open: DB::Open, transactions, DBWithTTL, the
// C API. librocksdb calls that through its procedure linkage table, so a definition that was loaded
// earlier takes its place: the one in here. It has libsluice_rocksdb, which is loaded only then, make
// options with the service, and goes on to the real one.
//
// This library needs none but the C library: it gets into every program that the environment
// reaches, whether that uses RocksDB or not.

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attach.h"

namespace ROCKSDB_NAMESPACE {

// As librocksdb has it: RocksDB's public headers do not declare it.
class DBImpl {
 public:
#if ROCKSDB_MAJOR >= 10
  SLUICE_EXPORT static Status Open(const DBOptions& options, const std::string& path,
                                   const std::vector<ColumnFamilyDescriptor>& families,
                                   std::vector<ColumnFamilyHandle*>* handles,
                                   std::unique_ptr<DB>* db, bool seq_per_batch, bool batch_per_txn,
                                   bool is_retry, bool* can_retry);
#else
  SLUICE_EXPORT static Status Open(const DBOptions& options, const std::string& path,
                                   const std::vector<ColumnFamilyDescriptor>& families,
                                   std::vector<ColumnFamilyHandle*>* handles, DB** db,
                                   bool seq_per_batch, bool batch_per_txn);
#endif
};

}  // namespace ROCKSDB_NAMESPACE

namespace {

using OpenFunction = decltype(rocksdb::DBImpl::Open);

struct Service {
  sluice::rocks::AttachFunction* attach = nullptr;
  sluice::rocks::FreeFunction* free = nullptr;
};

Service service;
pthread_once_t service_loaded = PTHREAD_ONCE_INIT;

link_map* ObjectOf(const void* address, Dl_info* info) {
  void* object = nullptr;
  return dladdr1(address, info, &object, RTLD_DL_LINKMAP) == 0 ? nullptr
                                                               : static_cast<link_map*>(object);
}

// The definition that the caller would have got without this library. There may be another RocksDB
// in the process, be it a part of another library: the caller's own object comes first, then what
// that depends on.
OpenFunction* RealOpen(const void* caller) {
  Dl_info self;
  Dl_info ignored;
  if (ObjectOf(reinterpret_cast<const void*>(&rocksdb::DBImpl::Open), &self) == nullptr ||
      self.dli_sname == nullptr) {
    return nullptr;
  }
  void* found = nullptr;
  const link_map* object = ObjectOf(caller, &ignored);
  if (object != nullptr && object->l_name[0] != '\0') {
    if (void* handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD)) {
      found = dlsym(handle, self.dli_sname);
      dlclose(handle);
    }
  }
  if (found == nullptr || found == self.dli_saddr) {
    found = dlsym(RTLD_NEXT, self.dli_sname);
  }
  return reinterpret_cast<OpenFunction*>(found);
}

// Whether `open` is of the RocksDB that libsluice_rocksdb is for.
bool IsOurRocksDb(OpenFunction* open) {
  void* handle = dlopen(SLUICE_ROCKSDB_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    return false;
  }
  Dl_info ignored;
  link_map* object = nullptr;
  const bool is = dlinfo(handle, RTLD_DI_LINKMAP, &object) == 0 &&
                  object == ObjectOf(reinterpret_cast<const void*>(open), &ignored);
  dlclose(handle);
  return is;
}

// Once in a process.
void Complain(const char* what, const char* more) {
  static bool said = false;
  if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) {
    fprintf(stderr, "sluice: %s: RocksDB compacts by itself%s%s\n", what,
            more == nullptr ? "" : ": ", more == nullptr ? "" : more);
  }
}

// Where this library is, or else where the system has libraries.
void LoadService() {
  Dl_info self;
  void* handle = nullptr;
  char path[4096];
  if (dladdr(reinterpret_cast<const void*>(&LoadService), &self) != 0) {
    const char* const slash = strrchr(self.dli_fname, '/');
    const int bytes = slash == nullptr ? -1
                                       : snprintf(path, sizeof path, "%.*s/%s",
                                                  static_cast<int>(slash - self.dli_fname),
                                                  self.dli_fname, SLUICE_ROCKSDB_LIBRARY);
    if (bytes > 0 && static_cast<size_t>(bytes) < sizeof path) {
      handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (handle == nullptr) {
    handle = dlopen(SLUICE_ROCKSDB_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    Complain(SLUICE_ROCKSDB_LIBRARY " cannot be loaded", dlerror());
    return;
  }
  // It stays: databases have objects of it.
  service.attach =
      reinterpret_cast<sluice::rocks::AttachFunction*>(dlsym(handle, "SluiceAttachToRocksDb"));
  service.free =
      reinterpret_cast<sluice::rocks::FreeFunction*>(dlsym(handle, "SluiceFreeRocksDbOptions"));
  if (service.attach == nullptr || service.free == nullptr) {
    service = {};
    Complain(SLUICE_ROCKSDB_LIBRARY " is of another version", nullptr);
  }
}

// Options with the service; null: those of the program.
const rocksdb::DBOptions* Attach(OpenFunction* open, const rocksdb::DBOptions& options,
                                 const char* path, bool seq_per_batch) {
  if (!IsOurRocksDb(open)) {
    Complain("the program's RocksDB is not " SLUICE_ROCKSDB_SONAME, nullptr);
    return nullptr;
  }
  pthread_once(&service_loaded, LoadService);
  return service.attach == nullptr ? nullptr : service.attach(&options, path, seq_per_batch);
}

}  // namespace

namespace ROCKSDB_NAMESPACE {

#if ROCKSDB_MAJOR >= 10
Status DBImpl::Open(const DBOptions& options, const std::string& path,
                    const std::vector<ColumnFamilyDescriptor>& families,
                    std::vector<ColumnFamilyHandle*>* handles, std::unique_ptr<DB>* db,
                    bool seq_per_batch, bool batch_per_txn, bool is_retry, bool* can_retry) {
#else
Status DBImpl::Open(const DBOptions& options, const std::string& path,
                    const std::vector<ColumnFamilyDescriptor>& families,
                    std::vector<ColumnFamilyHandle*>* handles, DB** db, bool seq_per_batch,
                    bool batch_per_txn) {
#endif
  OpenFunction* const open = RealOpen(__builtin_return_address(0));
  if (open == nullptr) {
    // Something has called it, so something defines it.
    fprintf(stderr, "sluice: RocksDB has gone from the process\n");
    abort();
  }
  const DBOptions* const ours = Attach(open, options, path.c_str(), seq_per_batch);
  const DBOptions& chosen = ours == nullptr ? options : *ours;
#if ROCKSDB_MAJOR >= 10
  Status status =
      open(chosen, path, families, handles, db, seq_per_batch, batch_per_txn, is_retry, can_retry);
#else
  Status status = open(chosen, path, families, handles, db, seq_per_batch, batch_per_txn);
#endif
  if (ours != nullptr) {
    service.free(ours);
  }
  return status;
}

}  // namespace ROCKSDB_NAMESPACE
