#include "dictionary.h"

#include <algorithm>
#include <set>
#include <utility>

#include "util/coding.h"

namespace sluice::mariadb {
namespace {

constexpr std::string_view kDictionary = "mariadb.dictionary";
// Sub-tables are called mariadb.table.ID.INDEX.
constexpr std::string_view kTables = "mariadb.table.";

// Keys: 't' and a table's name: its entry; 'c', a table's id and a Counter: its next number, or
// 's': its TableStatistics; 'r' and a partition's name: the one that it had before its table was
// renamed, since the server was started; "i": the highest id that was given.
constexpr char kTable = 't';
constexpr char kCounter = 'c';
constexpr char kRenamed = 'r';
constexpr std::string_view kLastId = "i";
constexpr uint64_t kFormat = 3;

std::string TableKey(std::string_view name) { return kTable + std::string(name); }

std::string RenamedKey(std::string_view name) { return kRenamed + std::string(name); }

// What is between the names of a table and its partition.
constexpr std::string_view kPartition = "#P#";

// A partition's table and what is behind that, or a table and nothing.
std::pair<std::string_view, std::string_view> SplitName(std::string_view name) {
  const size_t at = std::min(name.find(kPartition), name.size());
  return {name.substr(0, at), name.substr(at)};
}

std::string CounterKey(uint64_t id, Counter counter) {
  return kCounter + std::to_string(id) + static_cast<char>(counter);
}

std::string StatisticsKey(uint64_t id) { return kCounter + std::to_string(id) + 's'; }

void DeleteCounters(const Subtable* dictionary, uint64_t id, WriteBatch* batch) {
  batch->Delete(dictionary, CounterKey(id, Counter::kAutoIncrement));
  batch->Delete(dictionary, CounterKey(id, Counter::kRowId));
  batch->Delete(dictionary, StatisticsKey(id));
}

std::string Number(uint64_t value) {
  std::string bytes;
  PutVarint(&bytes, value);
  return bytes;
}

void PutText(std::string_view text, std::string* out) {
  PutVarint(out, text.size());
  out->append(text);
}

bool GetText(std::string_view* in, std::string* text) {
  uint64_t size = 0;
  if (!GetVarint64(in, &size) || size > in->size()) {
    return false;
  }
  *text = in->substr(0, size);
  in->remove_prefix(size);
  return true;
}

std::string Encode(const TableEntry& table) {
  std::string value = Number(kFormat);
  PutVarint(&value, table.id);
  PutVarint(&value, table.created);
  PutVarint(&value, table.version);
  PutVarint(&value, table.next_number);
  PutText(table.schemas, &value);
  PutText(table.defaults, &value);
  PutVarint(&value, table.indexes.size());
  for (const IndexEntry& index : table.indexes) {
    PutText(index.name, &value);
    PutText(index.layout, &value);
    PutVarint(&value, index.number);
  }
  return value;
}

std::string SubtableName(uint64_t id, uint64_t number) {
  return std::string(kTables) + std::to_string(id) + '.' + std::to_string(number);
}

Status Damaged(std::string_view name) {
  return Status::Corruption("entry of the dictionary for " + std::string(name));
}

}  // namespace

std::string PartitionPrefix(std::string_view table) {
  return std::string(table).append(kPartition);
}

Status Dictionary::Open(DB* db, std::string_view kept) {
  const std::lock_guard lock(mutex_);
  db_ = db;
  subtable_ = db->FindSubtable(kDictionary);
  if (subtable_ == nullptr) {
    SLUICE_RETURN_IF_ERROR(db->CreateSubtable(kDictionary, &subtable_));
  }
  std::string value;
  const Status status = db->Get({}, subtable_, kLastId, &value);
  std::string_view rest = value;
  if (status.ok() && !GetVarint64(&rest, &last_id_)) {
    return Damaged("the last id");
  }
  if (!status.ok() && !status.IsNotFound()) {
    return status;
  }
  WriteBatch batch;
  const auto iterator = db->NewIterator({}, subtable_);
  for (iterator->Seek(std::string(1, kTable));
       iterator->Valid() && iterator->key().front() == kTable; iterator->Next()) {
    if (!iterator->key().substr(1).starts_with(kept)) {
      batch.Delete(subtable_, iterator->key());
    }
  }
  SLUICE_RETURN_IF_ERROR(iterator->status());
  SLUICE_RETURN_IF_ERROR(db->Write({.sync = true}, batch));
  return DropLeftovers();
}

Status Dictionary::DropLeftovers() {
  std::set<std::string, std::less<>> used;
  WriteBatch batch;
  {
    const auto iterator = db_->NewIterator({}, subtable_);
    for (iterator->Seek(std::string(1, kTable));
         iterator->Valid() && iterator->key().front() == kTable; iterator->Next()) {
      TableEntry table;
      SLUICE_RETURN_IF_ERROR(Read(iterator->key().substr(1), &table));
      used.insert(CounterKey(table.id, Counter::kAutoIncrement));
      used.insert(CounterKey(table.id, Counter::kRowId));
      used.insert(StatisticsKey(table.id));
      for (const IndexEntry& index : table.indexes) {
        used.insert(index.subtable->name());
      }
    }
    SLUICE_RETURN_IF_ERROR(iterator->status());
    for (iterator->Seek(std::string(1, kCounter));
         iterator->Valid() && iterator->key().front() == kCounter; iterator->Next()) {
      if (!used.contains(iterator->key())) {
        batch.Delete(subtable_, iterator->key());
      }
    }
    SLUICE_RETURN_IF_ERROR(iterator->status());
  }
  SLUICE_RETURN_IF_ERROR(db_->Write({}, batch));
  for (Subtable* const subtable : db_->ListSubtables()) {
    if (subtable->name().starts_with(kTables) && !used.contains(subtable->name())) {
      SLUICE_RETURN_IF_ERROR(db_->DropSubtable(subtable));
    }
  }
  return {};
}

Status Dictionary::Read(std::string_view name, TableEntry* table) {
  std::string value;
  const Status status = db_->Get({}, subtable_, TableKey(name), &value);
  if (status.IsNotFound()) {
    return Status::NotFound("no table " + std::string(name));
  }
  SLUICE_RETURN_IF_ERROR(status);
  std::string_view rest = value;
  uint64_t format = 0;
  uint64_t count = 0;
  if (!GetVarint64(&rest, &format)) {
    return Damaged(name);
  }
  if (format != kFormat) {
    return Status::NotSupported("table " + std::string(name) + " has format " +
                                std::to_string(format) + " of another version");
  }
  if (!GetVarint64(&rest, &table->id) || !GetVarint64(&rest, &table->created) ||
      !GetVarint64(&rest, &table->version) || !GetVarint64(&rest, &table->next_number) ||
      !GetText(&rest, &table->schemas) || !GetText(&rest, &table->defaults) ||
      !GetVarint64(&rest, &count) || count == 0 || count > rest.size()) {
    return Damaged(name);
  }
  table->indexes.assign(count, {});
  for (size_t i = 0; i < count; ++i) {
    IndexEntry& index = table->indexes[i];
    if (!GetText(&rest, &index.name) || !GetText(&rest, &index.layout) ||
        !GetVarint64(&rest, &index.number)) {
      return Damaged(name);
    }
    const std::string subtable = SubtableName(table->id, index.number);
    index.subtable = db_->FindSubtable(subtable);
    if (index.subtable == nullptr) {
      return Status::Corruption("there is no sub-table " + subtable + " for table " +
                                std::string(name));
    }
  }
  return rest.empty() ? Status() : Damaged(name);
}

// The id is written before its sub-tables are made: a name is never used twice.
Status Dictionary::CreateSubtables(TableEntry* table) {
  table->id = ++last_id_;
  SLUICE_RETURN_IF_ERROR(db_->Put({}, subtable_, kLastId, Number(last_id_)));
  table->next_number = table->indexes.size();
  for (size_t i = 0; i < table->indexes.size(); ++i) {
    IndexEntry& index = table->indexes[i];
    index.number = i;
    const Status status =
        db_->CreateSubtable(index.options, SubtableName(table->id, i), &index.subtable);
    if (!status.ok()) {
      table->indexes.resize(i);
      DropSubtables(*table);
      return status;
    }
  }
  const Snapshot* const now = db_->GetSnapshot();
  table->created = now->sequence();
  db_->ReleaseSnapshot(now);
  return {};
}

// What cannot be dropped now is when the dictionary is opened again.
void Dictionary::DropSubtables(const TableEntry& table) {
  for (const IndexEntry& index : table.indexes) {
    (void)db_->DropSubtable(index.subtable);
  }
}

// After any other error than this it is unknown whether the entry is there, and its sub-tables must
// be, too.
void Dictionary::DropRefused(const Status& status, const TableEntry& table) {
  if (status.IsNoSpace()) {
    DropSubtables(table);
  }
}

Status Dictionary::Create(std::string_view name, uint64_t next_auto_increment, TableEntry* table) {
  const std::lock_guard lock(mutex_);
  TableEntry existing;
  const Status found = Read(name, &existing);
  if (!found.IsNotFound()) {
    return found.ok() ? Status::InvalidArgument("there is a table " + std::string(name)) : found;
  }
  SLUICE_RETURN_IF_ERROR(CreateSubtables(table));
  WriteBatch batch;
  batch.Put(subtable_, TableKey(name), Encode(*table));
  batch.Put(subtable_, CounterKey(table->id, Counter::kAutoIncrement), Number(next_auto_increment));
  const Status status = db_->Write({.sync = true}, batch);
  DropRefused(status, *table);
  return status;
}

Status Dictionary::Find(std::string_view name, TableEntry* table) {
  const std::lock_guard lock(mutex_);
  return Read(name, table);
}

Status Dictionary::FindAll(std::string_view prefix, std::vector<TableEntry>* tables) {
  const std::lock_guard lock(mutex_);
  tables->clear();
  const std::string begin = TableKey(prefix);
  const auto iterator = db_->NewIterator({}, subtable_);
  for (iterator->Seek(begin); iterator->Valid() && iterator->key().starts_with(begin);
       iterator->Next()) {
    SLUICE_RETURN_IF_ERROR(Read(iterator->key().substr(1), &tables->emplace_back()));
  }
  return iterator->status();
}

void Dictionary::AddDrop(std::string_view name, const TableEntry& table, WriteBatch* batch) {
  batch->Delete(subtable_, TableKey(name));
  batch->Delete(subtable_, RenamedKey(name));
  DeleteCounters(subtable_, table.id, batch);
}

Status Dictionary::Drop(std::string_view name, std::vector<Subtable*>* left) {
  const std::lock_guard lock(mutex_);
  TableEntry table;
  SLUICE_RETURN_IF_ERROR(Read(name, &table));
  WriteBatch batch;
  AddDrop(name, table, &batch);
  SLUICE_RETURN_IF_ERROR(db_->Write({.sync = true}, batch));
  if (left == nullptr) {
    DropSubtables(table);
    return {};
  }
  for (const IndexEntry& index : table.indexes) {
    left->push_back(index.subtable);
  }
  return {};
}

Status Dictionary::AddRename(std::string_view from, std::string_view to, WriteBatch* batch) {
  TableEntry table;
  SLUICE_RETURN_IF_ERROR(Read(from, &table));
  TableEntry existing;
  const Status found = Read(to, &existing);
  if (!found.IsNotFound()) {
    return found.ok() ? Status::InvalidArgument("there is a table " + std::string(to)) : found;
  }
  batch->Delete(subtable_, TableKey(from));
  batch->Delete(subtable_, RenamedKey(from));
  batch->Put(subtable_, TableKey(to), Encode(table));
  if (const std::string_view partition = SplitName(from).second;
      !partition.empty() && partition == SplitName(to).second) {
    batch->Put(subtable_, RenamedKey(to), from);
  }
  return {};
}

Status Dictionary::Rename(std::string_view from, std::string_view to) {
  const std::lock_guard lock(mutex_);
  WriteBatch batch;
  SLUICE_RETURN_IF_ERROR(AddRename(from, to, &batch));
  return db_->Write({.sync = true}, batch);
}

Status Dictionary::RenamePartitions(std::string_view from, std::string_view to) {
  const std::lock_guard lock(mutex_);
  WriteBatch batch;
  const std::string begin = TableKey(PartitionPrefix(from));
  const auto iterator = db_->NewIterator({}, subtable_);
  for (iterator->Seek(begin); iterator->Valid() && iterator->key().starts_with(begin);
       iterator->Next()) {
    const std::string_view partition = iterator->key().substr(1);
    SLUICE_RETURN_IF_ERROR(
        AddRename(partition, std::string(to).append(partition.substr(from.size())), &batch));
  }
  SLUICE_RETURN_IF_ERROR(iterator->status());
  return db_->Write({.sync = true}, batch);
}

Status Dictionary::TakeBackRenames(const std::function<bool(const std::string& table)>& has_list) {
  const std::lock_guard lock(mutex_);
  WriteBatch batch;
  const auto iterator = db_->NewIterator({}, subtable_);
  for (iterator->Seek(std::string(1, kRenamed));
       iterator->Valid() && iterator->key().front() == kRenamed; iterator->Next()) {
    const std::string name(iterator->key().substr(1));
    const std::string before(iterator->value());
    batch.Delete(subtable_, iterator->key());
    if (has_list(std::string(SplitName(before).first)) &&
        !has_list(std::string(SplitName(name).first))) {
      const Status status = AddRename(name, before, &batch);
      if (!status.ok() && !status.IsNotFound() && status.code() != Status::Code::kInvalidArgument) {
        return status;
      }
      batch.Delete(subtable_, RenamedKey(before));
    }
  }
  SLUICE_RETURN_IF_ERROR(iterator->status());
  return db_->Write({.sync = true}, batch);
}

Status Dictionary::ListPartitioned(std::vector<std::string>* tables) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> found;
  const auto iterator = db_->NewIterator({}, subtable_);
  for (iterator->Seek(std::string(1, kTable));
       iterator->Valid() && iterator->key().front() == kTable; iterator->Next()) {
    const auto [table, partition] = SplitName(iterator->key().substr(1));
    if (!partition.empty()) {
      found.emplace(table);
    }
  }
  tables->assign(found.begin(), found.end());
  return iterator->status();
}

Status Dictionary::DropPartitions(std::string_view name) {
  const std::lock_guard lock(mutex_);
  WriteBatch batch;
  std::vector<TableEntry> dropped;
  const std::string begin = TableKey(PartitionPrefix(name));
  const auto iterator = db_->NewIterator({}, subtable_);
  for (iterator->Seek(begin); iterator->Valid() && iterator->key().starts_with(begin);
       iterator->Next()) {
    const std::string_view partition = iterator->key().substr(1);
    SLUICE_RETURN_IF_ERROR(Read(partition, &dropped.emplace_back()));
    AddDrop(partition, dropped.back(), &batch);
  }
  SLUICE_RETURN_IF_ERROR(iterator->status());
  if (dropped.empty()) {
    return Status::NotFound("no partitions of " + std::string(name));
  }
  SLUICE_RETURN_IF_ERROR(db_->Write({.sync = true}, batch));
  for (const TableEntry& table : dropped) {
    DropSubtables(table);
  }
  return {};
}

Status Dictionary::Truncate(std::string_view name, TableEntry* table) {
  const std::lock_guard lock(mutex_);
  TableEntry old;
  SLUICE_RETURN_IF_ERROR(Read(name, &old));
  *table = old;
  table->defaults.clear();
  for (IndexEntry& index : table->indexes) {
    index.options = db_->GetSubtableOptions(index.subtable);
  }
  SLUICE_RETURN_IF_ERROR(CreateSubtables(table));
  WriteBatch batch;
  batch.Put(subtable_, TableKey(name), Encode(*table));
  DeleteCounters(subtable_, old.id, &batch);
  const Status status = db_->Write({.sync = true}, batch);
  DropRefused(status, *table);
  SLUICE_RETURN_IF_ERROR(status);
  DropSubtables(old);
  return {};
}

Status Dictionary::CreateIndex(TableEntry* table, IndexEntry* index) {
  const std::lock_guard lock(mutex_);
  index->number = table->next_number++;
  const std::string name = SubtableName(table->id, index->number);
  // One that could not be dropped when the table was not altered after all.
  if (Subtable* const left = db_->FindSubtable(name); left != nullptr) {
    SLUICE_RETURN_IF_ERROR(db_->DropSubtable(left));
  }
  return db_->CreateSubtable(index->options, name, &index->subtable);
}

void Dictionary::RemoveIndex(const IndexEntry& index) { (void)db_->DropSubtable(index.subtable); }

Status Dictionary::Alter(const std::vector<Alteration>& alterations) {
  const std::lock_guard lock(mutex_);
  WriteBatch batch;
  std::vector<TableEntry> dropped;
  for (const auto& [name, table, next_auto_increment] : alterations) {
    TableEntry& old = dropped.emplace_back();
    SLUICE_RETURN_IF_ERROR(Read(name, &old));
    batch.Put(subtable_, TableKey(name), Encode(*table));
    if (next_auto_increment.has_value()) {
      batch.Put(subtable_, CounterKey(table->id, Counter::kAutoIncrement),
                Number(*next_auto_increment));
    }
    std::erase_if(old.indexes, [&kept = table->indexes](const IndexEntry& index) {
      return std::any_of(kept.begin(), kept.end(), [&](const IndexEntry& candidate) {
        return candidate.number == index.number;
      });
    });
  }
  SLUICE_RETURN_IF_ERROR(db_->Write({.sync = true}, batch));
  for (const TableEntry& table : dropped) {
    DropSubtables(table);
  }
  return {};
}

Status Dictionary::ReadCounter(uint64_t id, Counter counter, uint64_t* next) {
  *next = 1;
  std::string value;
  const Status status = db_->Get({}, subtable_, CounterKey(id, counter), &value);
  if (status.IsNotFound()) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(status);
  std::string_view rest = value;
  return GetVarint64(&rest, next) ? Status() : Damaged("a counter");
}

Status Dictionary::WriteCounter(uint64_t id, Counter counter, uint64_t next) {
  return db_->Put({}, subtable_, CounterKey(id, counter), Number(next));
}

Status Dictionary::ReadStatistics(uint64_t id, TableStatistics* statistics) {
  *statistics = {};
  std::string value;
  const Status status = db_->Get({}, subtable_, StatisticsKey(id), &value);
  if (status.IsNotFound()) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(status);
  std::string_view rest = value;
  uint64_t indexes = 0;
  bool good = GetVarint64(&rest, &statistics->rows) && GetVarint64(&rest, &indexes);
  for (; good && indexes > 0; --indexes) {
    uint64_t number = 0;
    uint64_t columns = 0;
    good = GetVarint64(&rest, &number) && GetVarint64(&rest, &columns);
    std::vector<uint64_t>& same = statistics->same[number];
    for (; good && columns > 0; --columns) {
      same.push_back(0);
      good = GetVarint64(&rest, &same.back());
    }
  }
  return good ? Status() : Damaged("statistics");
}

Status Dictionary::WriteStatistics(uint64_t id, const TableStatistics& statistics) {
  std::string value = Number(statistics.rows);
  PutVarint(&value, statistics.same.size());
  for (const auto& [number, same] : statistics.same) {
    PutVarint(&value, number);
    PutVarint(&value, same.size());
    for (const uint64_t entries : same) {
      PutVarint(&value, entries);
    }
  }
  return db_->Put({}, subtable_, StatisticsKey(id), value);
}

}  // namespace sluice::mariadb
