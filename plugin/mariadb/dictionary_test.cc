#include "dictionary.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "util/testing.h"

namespace sluice::mariadb {
namespace {

class DictionaryTest : public testing::Test {
 protected:
  DictionaryTest() { Reopen(); }

  // Closes database and dictionary, and opens both.
  void Reopen() {
    db_.reset();
    Options options;
    options.create_if_missing = true;
    ASSERT_TRUE(DB::Open(options, directory_.File("db"), &db_).ok());
    dictionary_ = std::make_unique<Dictionary>();
    const Status status = dictionary_->Open(db_.get(), "./");
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  static TableEntry Described() {
    TableEntry table;
    table.indexes = {{"PRIMARY", "a"}, {"by_name", "b"}};
    return table;
  }

  size_t Subtables() { return db_->ListSubtables().size(); }

  TempDir directory_;
  std::unique_ptr<DB> db_;
  std::unique_ptr<Dictionary> dictionary_;
};

TEST_F(DictionaryTest, TablesAreFoundAgain) {
  TableEntry made = Described();
  ASSERT_TRUE(dictionary_->Create("./d/t", 7, &made).ok());
  ASSERT_TRUE(db_->Put({}, made.indexes[1].subtable, "k", "v").ok());
  Reopen();
  TableEntry found;
  ASSERT_TRUE(dictionary_->Find("./d/t", &found).ok());
  EXPECT_EQ(found.id, made.id);
  EXPECT_EQ(found.created, made.created);
  ASSERT_EQ(found.indexes.size(), 2U);
  EXPECT_EQ(found.indexes[1].name, "by_name");
  EXPECT_EQ(found.indexes[1].layout, "b");
  std::string value;
  EXPECT_TRUE(db_->Get({}, found.indexes[1].subtable, "k", &value).ok());
  uint64_t next = 0;
  ASSERT_TRUE(dictionary_->ReadCounter(found.id, Counter::kAutoIncrement, &next).ok());
  EXPECT_EQ(next, 7U);
}

TEST_F(DictionaryTest, SubtablesHaveTheirOptions) {
  TableEntry table = Described();
  const SubtableOptions own{.compression = Compression::kZstd};
  table.indexes[1].options = own;
  ASSERT_TRUE(dictionary_->Create("./d/t", 1, &table).ok());
  IndexEntry added{"by_size", "c"};
  added.options = own;
  ASSERT_TRUE(dictionary_->CreateIndex(&table, &added).ok());
  EXPECT_EQ(db_->GetSubtableOptions(added.subtable), own);
  const SubtableOptions changed{.block_bytes = 8192};
  ASSERT_TRUE(db_->SetSubtableOptions(table.indexes[0].subtable, changed).ok());
  Subtable* const before = table.indexes[0].subtable;
  ASSERT_TRUE(dictionary_->Truncate("./d/t", &table).ok());
  EXPECT_NE(table.indexes[0].subtable, before);
  EXPECT_EQ(db_->GetSubtableOptions(table.indexes[0].subtable), changed);
  EXPECT_EQ(db_->GetSubtableOptions(table.indexes[1].subtable), own);
}

TEST_F(DictionaryTest, StatisticsAreKept) {
  TableEntry made = Described();
  ASSERT_TRUE(dictionary_->Create("./d/t", 1, &made).ok());
  TableStatistics statistics;
  ASSERT_TRUE(dictionary_->ReadStatistics(made.id, &statistics).ok());
  EXPECT_EQ(statistics.rows, 0U);
  EXPECT_TRUE(statistics.same.empty());
  statistics.rows = 1000;
  statistics.same = {{0, {1}}, {3, {500, 7, 1}}, {4, {}}};
  ASSERT_TRUE(dictionary_->WriteStatistics(made.id, statistics).ok());
  const auto found = [this](uint64_t id) {
    TableStatistics read;
    EXPECT_TRUE(dictionary_->ReadStatistics(id, &read).ok());
    return read;
  };
  Reopen();
  ASSERT_TRUE(dictionary_->Rename("./d/t", "./d/u").ok());
  EXPECT_EQ(found(made.id).rows, 1000U);
  EXPECT_EQ(found(made.id).same, statistics.same);
  // They go with what they are of.
  TableEntry fresh;
  ASSERT_TRUE(dictionary_->Truncate("./d/u", &fresh).ok());
  EXPECT_EQ(found(made.id).rows, 0U);
  EXPECT_EQ(found(fresh.id).rows, 0U);
  ASSERT_TRUE(dictionary_->WriteStatistics(fresh.id, statistics).ok());
  ASSERT_TRUE(dictionary_->Drop("./d/u").ok());
  EXPECT_EQ(found(fresh.id).rows, 0U);
  // Those of a table that is gone are not kept for ever.
  ASSERT_TRUE(dictionary_->WriteStatistics(fresh.id, statistics).ok());
  Reopen();
  EXPECT_EQ(found(fresh.id).rows, 0U);
}

TEST_F(DictionaryTest, PartitionsAreAlteredTogether) {
  const std::string names[] = {"./d/t#P#x", "./d/t#P#y"};
  std::vector<TableEntry> tables(2, Described());
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(dictionary_->Create(names[i], 1, &tables[i]).ok());
    tables[i].indexes.pop_back();
    tables[i].version = 8;
  }
  const size_t before = Subtables();
  TableEntry found;
  EXPECT_TRUE(
      dictionary_
          ->Alter({{names[0], &tables[0]}, {"./d/t#P#z", &tables[1]}, {names[1], &tables[1]}})
          .IsNotFound());
  EXPECT_EQ(Subtables(), before);
  std::vector<TableEntry> all;
  ASSERT_TRUE(dictionary_->FindAll(PartitionPrefix("./d/t"), &all).ok());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].version, 0U);
  ASSERT_TRUE(dictionary_->Alter({{names[0], &tables[0]}, {names[1], &tables[1]}}).ok());
  EXPECT_EQ(Subtables(), before - 2);
  Reopen();
  ASSERT_TRUE(dictionary_->FindAll(PartitionPrefix("./d/t"), &all).ok());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, tables[0].id);
  EXPECT_EQ(all[1].id, tables[1].id);
  for (const std::string& name : names) {
    ASSERT_TRUE(dictionary_->Find(name, &found).ok());
    EXPECT_EQ(found.version, 8U);
    EXPECT_EQ(found.indexes.size(), tables[0].indexes.size());
  }
  for (const char* const none : {"./d/t#P#x", "./d/s", "./d/t2"}) {
    EXPECT_TRUE(dictionary_->FindAll(PartitionPrefix(none), &all).ok());
    EXPECT_TRUE(all.empty()) << none;
  }
}

TEST_F(DictionaryTest, TablesAreAltered) {
  TableEntry made = Described();
  ASSERT_TRUE(dictionary_->Create("./d/t", 7, &made).ok());
  const size_t before = Subtables();
  // One index goes, and two come.
  TableEntry altered = made;
  altered.indexes.erase(altered.indexes.begin() + 1);
  for (const char* const name : {"x", "y"}) {
    IndexEntry index{name, "c"};
    ASSERT_TRUE(dictionary_->CreateIndex(&altered, &index).ok());
    ASSERT_TRUE(db_->Put({}, index.subtable, "k", name).ok());
    altered.indexes.push_back(index);
  }
  altered.schemas = "schemas";
  altered.defaults = "row";
  altered.version = 5;
  ASSERT_TRUE(dictionary_->Alter({{"./d/t", &altered}}).ok());
  EXPECT_EQ(Subtables(), before + 1);
  Reopen();
  TableEntry found;
  ASSERT_TRUE(dictionary_->Find("./d/t", &found).ok());
  EXPECT_EQ(found.version, 5U);
  EXPECT_EQ(found.schemas, "schemas");
  EXPECT_EQ(found.defaults, "row");
  ASSERT_EQ(found.indexes.size(), 3U);
  std::string value;
  ASSERT_TRUE(db_->Get({}, found.indexes[2].subtable, "k", &value).ok());
  EXPECT_EQ(value, "y");
  // A number is never used twice, and what a crash leaves of an index that was not added is dropped.
  IndexEntry index{"z", "c"};
  ASSERT_TRUE(dictionary_->CreateIndex(&found, &index).ok());
  EXPECT_EQ(index.number, 4U);
  EXPECT_EQ(Subtables(), before + 2);
  Reopen();
  EXPECT_EQ(Subtables(), before + 1);
  // One that could not be dropped in time gives way.
  ASSERT_TRUE(dictionary_->Find("./d/t", &found).ok());
  ASSERT_TRUE(dictionary_->CreateIndex(&found, &index).ok());
  ASSERT_TRUE(db_->Put({}, index.subtable, "k", "left").ok());
  ASSERT_TRUE(dictionary_->Find("./d/t", &found).ok());
  ASSERT_TRUE(dictionary_->CreateIndex(&found, &index).ok());
  EXPECT_TRUE(db_->Get({}, index.subtable, "k", &value).IsNotFound());
  dictionary_->RemoveIndex(index);
  EXPECT_EQ(Subtables(), before + 1);
  EXPECT_TRUE(dictionary_->Alter({{"./d/other", &found}}).IsNotFound());
}

TEST_F(DictionaryTest, NamesAreUnique) {
  TableEntry a = Described();
  TableEntry b = Described();
  ASSERT_TRUE(dictionary_->Create("./d/a", 1, &a).ok());
  EXPECT_EQ(dictionary_->Create("./d/a", 1, &b).code(), Status::Code::kInvalidArgument);
  ASSERT_TRUE(dictionary_->Create("./d/b", 1, &b).ok());
  EXPECT_EQ(dictionary_->Rename("./d/a", "./d/b").code(), Status::Code::kInvalidArgument);
  EXPECT_TRUE(dictionary_->Rename("./d/c", "./d/d").IsNotFound());
  EXPECT_TRUE(dictionary_->Drop("./d/c").IsNotFound());
}

TEST_F(DictionaryTest, PartitionsAreRenamedTogether) {
  for (const char* const name : {"./d/t#P#x", "./d/t#P#y#SP#0", "./d/t", "./d/t2#P#x"}) {
    TableEntry table = Described();
    ASSERT_TRUE(dictionary_->Create(name, 1, &table).ok());
  }
  TableEntry y;
  ASSERT_TRUE(dictionary_->Find("./d/t#P#y#SP#0", &y).ok());
  EXPECT_EQ(dictionary_->RenamePartitions("./d/t", "./d/t2").code(),
            Status::Code::kInvalidArgument);
  TableEntry found;
  EXPECT_TRUE(dictionary_->Find("./d/t2#P#y#SP#0", &found).IsNotFound());
  ASSERT_TRUE(dictionary_->RenamePartitions("./d/t", "./d/u").ok());
  std::vector<TableEntry> left;
  ASSERT_TRUE(dictionary_->FindAll(PartitionPrefix("./d/t"), &left).ok());
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(dictionary_->Find("./d/u#P#x", &found).ok());
  ASSERT_TRUE(dictionary_->Find("./d/u#P#y#SP#0", &found).ok());
  EXPECT_EQ(found.id, y.id);
  for (const char* const other : {"./d/t", "./d/t2#P#x"}) {
    EXPECT_TRUE(dictionary_->Find(other, &found).ok()) << other;
  }
  EXPECT_TRUE(dictionary_->RenamePartitions("./d/none", "./d/v").ok());
}

TEST_F(DictionaryTest, PartitionsHaveTheNameOfTheirList) {
  std::set<std::string> lists;
  const auto take_back = [&] {
    Reopen();
    const Status status =
        dictionary_->TakeBackRenames([&](const std::string& name) { return lists.contains(name); });
    ASSERT_TRUE(status.ok()) << status.ToString();
  };
  const auto found = [&](std::string_view name) {
    TableEntry table;
    return dictionary_->Find(name, &table).ok();
  };
  for (const char* const name : {"./d/t#P#x", "./d/t#P#y"}) {
    TableEntry table = Described();
    ASSERT_TRUE(dictionary_->Create(name, 1, &table).ok());
  }
  // The first of two is renamed, and the list is not.
  lists = {"./d/t"};
  ASSERT_TRUE(dictionary_->Rename("./d/t#P#x", "./e/u#P#x").ok());
  take_back();
  EXPECT_TRUE(found("./d/t#P#x") && found("./d/t#P#y"));
  // Both and the list are, and another table has the name.
  ASSERT_TRUE(dictionary_->Rename("./d/t#P#x", "./e/u#P#x").ok());
  ASSERT_TRUE(dictionary_->Rename("./d/t#P#y", "./e/u#P#y").ok());
  lists = {"./e/u", "./d/t"};
  take_back();
  EXPECT_TRUE(found("./e/u#P#x") && found("./e/u#P#y"));
  // What was renamed before the server was started is as it is to be, and so is what is dropped.
  lists = {"./d/t"};
  take_back();
  EXPECT_TRUE(found("./e/u#P#x") && found("./e/u#P#y"));
  ASSERT_TRUE(dictionary_->Rename("./e/u#P#x", "./d/t#P#x").ok());
  ASSERT_TRUE(dictionary_->Drop("./d/t#P#x").ok());
  // A partition that gets another name within its table, or is exchanged with a table.
  ASSERT_TRUE(dictionary_->Rename("./e/u#P#y", "./e/u#P#z").ok());
  ASSERT_TRUE(dictionary_->Rename("./e/u#P#z", "./e/v").ok());
  lists = {"./e/u"};
  take_back();
  EXPECT_TRUE(found("./e/v"));
  EXPECT_FALSE(found("./e/u#P#x") || found("./e/u#P#y") || found("./e/u#P#z"));
}

TEST_F(DictionaryTest, RenameKeepsTheRows) {
  TableEntry table = Described();
  ASSERT_TRUE(dictionary_->Create("./d/a", 1, &table).ok());
  ASSERT_TRUE(db_->Put({}, table.indexes[0].subtable, "k", "v").ok());
  ASSERT_TRUE(dictionary_->Rename("./d/a", "./e/b").ok());
  Reopen();
  TableEntry found;
  EXPECT_TRUE(dictionary_->Find("./d/a", &found).IsNotFound());
  ASSERT_TRUE(dictionary_->Find("./e/b", &found).ok());
  std::string value;
  EXPECT_TRUE(db_->Get({}, found.indexes[0].subtable, "k", &value).ok());
}

TEST_F(DictionaryTest, TruncateLeavesNothing) {
  TableEntry table = Described();
  ASSERT_TRUE(dictionary_->Create("./d/a", 9, &table).ok());
  ASSERT_TRUE(db_->Put({}, table.indexes[0].subtable, "k", "v").ok());
  const size_t subtables = Subtables();
  TableEntry fresh;
  ASSERT_TRUE(dictionary_->Truncate("./d/a", &fresh).ok());
  EXPECT_NE(fresh.id, table.id);
  EXPECT_GT(fresh.created, table.created);
  EXPECT_EQ(Subtables(), subtables);
  std::string value;
  EXPECT_TRUE(db_->Get({}, fresh.indexes[0].subtable, "k", &value).IsNotFound());
  uint64_t next = 0;
  ASSERT_TRUE(dictionary_->ReadCounter(fresh.id, Counter::kAutoIncrement, &next).ok());
  EXPECT_EQ(next, 1U);
}

TEST_F(DictionaryTest, DropLeavesNothing) {
  const size_t before = Subtables();
  TableEntry table = Described();
  ASSERT_TRUE(dictionary_->Create("./d/a", 1, &table).ok());
  EXPECT_EQ(Subtables(), before + 2);
  ASSERT_TRUE(dictionary_->Drop("./d/a").ok());
  EXPECT_EQ(Subtables(), before);
  TableEntry again = Described();
  ASSERT_TRUE(dictionary_->Create("./d/a", 1, &again).ok());
  EXPECT_NE(again.id, table.id);
}

TEST_F(DictionaryTest, PartitionsAreDroppedTogether) {
  const size_t before = Subtables();
  for (const char* const name : {"./d/t#P#x", "./d/t#P#y#SP#z"}) {
    TableEntry table = Described();
    ASSERT_TRUE(dictionary_->Create(name, 1, &table).ok());
  }
  const size_t with_partitions = Subtables();
  for (const char* const name : {"./d/t", "./d/t2#P#x"}) {
    TableEntry table = Described();
    ASSERT_TRUE(dictionary_->Create(name, 1, &table).ok());
  }
  const size_t others = Subtables() - with_partitions;
  std::vector<std::string> tables;
  ASSERT_TRUE(dictionary_->ListPartitioned(&tables).ok());
  EXPECT_EQ(tables, (std::vector<std::string>{"./d/t", "./d/t2"}));
  ASSERT_TRUE(dictionary_->DropPartitions("./d/t").ok());
  EXPECT_EQ(Subtables(), before + others);
  ASSERT_TRUE(dictionary_->ListPartitioned(&tables).ok());
  EXPECT_EQ(tables, std::vector<std::string>{"./d/t2"});
  TableEntry found;
  EXPECT_TRUE(dictionary_->Find("./d/t", &found).ok());
  EXPECT_TRUE(dictionary_->DropPartitions("./d/t").IsNotFound());
}

TEST_F(DictionaryTest, OpeningDropsWhatCrashesAndTemporaryTablesLeft) {
  TableEntry kept = Described();
  TableEntry temporary = Described();
  ASSERT_TRUE(dictionary_->Create("./d/a", 1, &kept).ok());
  const size_t subtables = Subtables();
  ASSERT_TRUE(dictionary_->Create("/scratch/#sql-temptable-1", 1, &temporary).ok());
  Subtable* leftover = nullptr;
  ASSERT_TRUE(db_->CreateSubtable("mariadb.table.99.0", &leftover).ok());
  Subtable* foreign = nullptr;
  ASSERT_TRUE(db_->CreateSubtable("of something else", &foreign).ok());
  Reopen();
  EXPECT_EQ(Subtables(), subtables + 1);
  TableEntry found;
  EXPECT_TRUE(dictionary_->Find("./d/a", &found).ok());
  EXPECT_TRUE(dictionary_->Find("/scratch/#sql-temptable-1", &found).IsNotFound());
}

TEST_F(DictionaryTest, DamageIsReported) {
  Subtable* const subtable = db_->FindSubtable("mariadb.dictionary");
  ASSERT_NE(subtable, nullptr);
  for (const std::string& entry :
       {std::string(), std::string("\3"), std::string("\3\1\1\0\2\0\0\377", 8),
        std::string("\3\1\1\0\1\0\0\1\7abc", 12), std::string(3, '\377')}) {
    ASSERT_TRUE(db_->Put({}, subtable, "t./d/a", entry).ok());
    TableEntry found;
    EXPECT_TRUE(dictionary_->Find("./d/a", &found).IsCorruption());
  }
  // An entry whose sub-tables are not there.
  ASSERT_TRUE(db_->Put({}, subtable, "t./d/a", std::string("\3\143\1\0\1\0\0\1\1a\1b\0", 13)).ok());
  TableEntry found;
  const Status status = dictionary_->Find("./d/a", &found);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find("mariadb.table.99.0"), std::string::npos);
  ASSERT_TRUE(db_->Put({}, subtable, "t./d/a", "\2").ok());
  EXPECT_TRUE(dictionary_->Find("./d/a", &found).IsNotSupported());
  ASSERT_TRUE(db_->Delete({}, subtable, "t./d/a").ok());
}

}  // namespace
}  // namespace sluice::mariadb
