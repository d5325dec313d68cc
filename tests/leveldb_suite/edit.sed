# What is changed in LevelDB's tests before they are compiled.

# Assertions about how many files a level has: Sluice's trees have another shape. Loops and sums over
# such numbers stay.
s/^( *)ASSERT_[A-Z]+\((NumTableFilesAtLevel\(|.*FilesPerLevel\(\)|1, Property\().*;.*$/\1\/\/ (shape)/
# The harness of table_test: over the database only, and not in another order than bytewise.
/^    \{(TABLE|BLOCK|MEMTABLE)_TEST, .*\},$/d
/^    \{DB_TEST, true, 16\},$/d
# db_test.cc runs a benchmark of LevelDB's own files first.
/benchmark::RunSpecifiedBenchmarks\(\);/d
# The same of files of all kinds in recovery_test, where CURRENT does not say what they are called.
s/^( *)ASSERT_[A-Z]+\(.*(NumTables|NumLogs|FirstLogFile|FileSize|ManifestFileName)\(.*;.*$/\1\/\/ (shape)/
s/^( *return dbname_ \+ "\/") \+ current;/\1 "MANIFEST-000001";/
# Damage to a table: what is in use stands at the end of what env_bridge.h makes of Sluice's one file.
s/Corrupt\(kTableFile, 100, 1\)/Corrupt(kTableFile, -5000, 1)/
