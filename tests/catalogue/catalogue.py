"""The bug catalogue (docs/spec/09-reliability.md, sections 1 and 2): what each bug was, and the tests that would show it in ours.

B: Apache Kafka's, R: Redpanda's, J: what Jepsen found. A bug that cannot happen to one broker has a reason instead of
tests. test_complete.py holds this table against the specification and against the tests that exist.
"""

from typing import Final, NamedTuple

COORDINATOR: Final = "tests/catalogue/test_coordinator.py"
GROUPS: Final = "tests/catalogue/test_groups.py"
JEPSEN: Final = "tests/catalogue/test_jepsen.py"
PRODUCERS: Final = "tests/catalogue/test_producer_state.py"
STORAGE: Final = "tests/catalogue/test_storage.py"
WIRE: Final = "tests/catalogue/test_wire.py"
STORIES: Final = f"{JEPSEN}::test_j2_j5_j7_j11_r6_r7_stories_of_transactions_and_crashes"
EVERY_CHANGE: Final = f"{STORAGE}::test_b48_b51_b54_j18_a_crash_at_every_change_of_the_disk"
CRASHES: Final = (
    "tests/properties/test_classic_crashes.py::test_acked_batches_survive_with_their_offsets_and_once"
)


class Bug(NamedTuple):
    id: str
    what: str
    tests: tuple[str, ...] = ()
    reason: str = ""  # why it has no test


CATALOGUE: Final[tuple[Bug, ...]] = (
    # Apache Kafka
    Bug(
        "B1",
        "KAFKA-17754: a late EndTxn ends the next transaction",
        (
            f"{COORDINATOR}::test_b1_kafka_17754_late_endtxn_of_the_classic_protocol",
            f"{COORDINATOR}::test_b1_kafka_17754_late_endtxn_under_kip_890",
            f"{COORDINATOR}::test_b1_a_late_txn_offset_commit_does_not_put_the_group_back",
            f"{COORDINATOR}::test_b1_the_guard_and_a_zombie_on_a_newer_connection_than_its_successors",
            f"{COORDINATOR}::test_b1_the_guard_and_a_successor_on_an_older_connection_than_its_predecessors",
            "tests/conformance/test_kafka_17754_late_endtxn.py::test_kafka_17754_late_endtxn_is_refused",
            "tests/conformance/test_late_init.py::test_a_late_copy_of_init_producer_id_does_not_fence_the_producer_of_its_retry",
        ),
    ),
    Bug(
        "B2",
        "KAFKA-14402, KAFKA-14561: a Produce after the abort marker opens a transaction that hangs",
        (
            f"{COORDINATOR}::test_b2_kafka_14402_a_produce_after_the_abort_opens_nothing",
            "tests/scenarios/test_faults.py::test_a_produce_held_across_an_abort_joins_no_later_transaction_b2",
        ),
    ),
    Bug(
        "B3",
        "KAFKA-14884: the abort lands between verification and append",
        (
            f"{COORDINATOR}::test_b3_kafka_14884_an_abort_between_verification_and_append_classic",
            f"{COORDINATOR}::test_b3_kafka_14884_an_abort_between_the_implicit_add_and_the_append",
            "tests/unit/test_log_state.py::test_4_5_b3_a_marker_removes_the_guard",
        ),
    ),
    Bug(
        "B4",
        "KAFKA-14904: a verification while the coordinator writes is refused, and a later batch overtakes",
        (f"{COORDINATOR}::test_b4_kafka_14904_a_verification_while_another_partition_is_added",),
    ),
    Bug(
        "B5",
        "KAFKA-14920: a batch is accepted though the one before it failed verification",
        (
            f"{PRODUCERS}::test_b5_kafka_14920_a_later_batch_does_not_overtake_one_that_failed_verification",
            "tests/vectors/test_txn_produce.py::test_v77_tv1_a_late_resend",
        ),
    ),
    Bug(
        "B6",
        "KAFKA-14916: a transactional id beside a plain batch, and two producers in one request; Kafka 4.3.1 takes the first",
        (
            "tests/vectors/test_produce.py::test_v72_a_transactional_id_beside_a_plain_batch",
            "tests/vectors/test_txn_produce.py::test_produce_with_two_producers_in_one_request",
        ),
    ),
    Bug(
        "B7",
        "KAFKA-15653: a scratch buffer shared between a request and the rest of another",
        (
            f"{WIRE}::test_b7_kafka_15653_a_wait_between_two_compressed_batches_mixes_nothing",
            "tests/unit/test_classic_engine.py::test_t27_the_memory_of_a_request_may_be_reused",
        ),
    ),
    Bug(
        "B8",
        "KAFKA-15784: offsets are written on the state that the group had before the verification",
        (f"{GROUPS}::test_b8_kafka_15784_the_member_is_looked_at_after_the_wait",),
    ),
    Bug(
        "B9",
        "KAFKA-16352: a slow end removes the pending work of the next transaction",
        (f"{COORDINATOR}::test_b9_kafka_16352_a_slow_end_does_not_touch_the_next_transaction",),
    ),
    Bug(
        "B10",
        "KAFKA-16371: one of several offsets is too large, and its group stays unstable for ever",
        (
            f"{GROUPS}::test_b10_kafka_16371_mixed_validity_txn_offset_commit",
            f"{GROUPS}::test_b10_kafka_16371_a_write_of_offsets_that_is_refused_leaves_nothing_pending",
            "tests/vectors/test_txn_offsets.py::test_v101_bad_offsets_b10",
        ),
    ),
    Bug(
        "B11",
        "KAFKA-16386: a new error of the coordinator reaches an old client",
        (
            f"{WIRE}::test_b11_kafka_16386_produce_answers_in_words_of_its_version",
            f"{WIRE}::test_b11_kafka_16386_txn_offset_commit_answers_in_words_of_its_version",
        ),
    ),
    Bug(
        "B12",
        "KAFKA-16992: a broker sends a request of a version that another broker does not know",
        reason="There is one broker: its coordinators call the partitions in the same process and send no requests.",
    ),
    Bug(
        "B13",
        "KAFKA-17507: a marker is answered before its offsets are in effect",
        (
            f"{GROUPS}::test_b13_kafka_17507_a_marker_is_answered_when_its_offsets_are_in_effect",
            f"{GROUPS}::test_b13_kafka_17507_offsets_of_the_next_transaction_do_not_collide",
        ),
    ),
    Bug(
        "B14",
        "KAFKA-18227: a client turns to KIP-890 in the middle of a transaction",
        (
            f"{COORDINATOR}::test_b14_kafka_18227_a_client_that_turns_to_kip_890_in_the_middle",
            "tests/vectors/test_txn_end.py::test_v57_opened_by_tv1_ended_by_tv2",
        ),
    ),
    Bug(
        "B15",
        "KAFKA-18575, KAFKA-18654: the next Produce while the last transaction is ending, and the price of waiting",
        (
            f"{COORDINATOR}::test_b15_kafka_18575_kafka_18654_the_next_transaction_at_once",
            "tests/vectors/test_txn_produce.py::test_v78_tv2_the_next_transaction_at_once_b15",
        ),
    ),
    Bug(
        "B16",
        "KAFKA-18660: the epoch runs out and EndTxn answers with the wrong identity",
        (
            f"{COORDINATOR}::test_b16_kafka_18660_twenty_transactions_over_the_last_epoch",
            "tests/vectors/test_txn_init.py::test_v55_tv2_ends_at_the_last_epoch_trap_7",
        ),
    ),
    Bug(
        "B17",
        "KAFKA-19367, KAFKA-20090: a fence or a timeout at epoch 32766 bumps twice, or never ends",
        (
            f"{COORDINATOR}::test_b17_kafka_20090_a_timeout_at_the_last_epoch",
            "tests/vectors/test_txn_init.py::test_b17_kafka_19367_a_fence_at_the_last_epoch",
        ),
    ),
    Bug(
        "B18",
        "KAFKA-19446, KIP-1228: the marker of the last transaction is accepted inside the next one",
        (
            "tests/unit/test_log_state.py::test_ps_6_ps_7_markers",
            "tests/vectors/test_txn_log.py::test_v87_v88_markers_by_epoch_and_coordinator_ps_6_ps_7",
        ),
    ),
    Bug(
        "B19",
        "KAFKA-19999: the retry of a marker that was written is refused for ever",
        (
            f"{COORDINATOR}::test_b19_kafka_19999_a_marker_whose_answer_was_lost_is_written_again",
            f"{COORDINATOR}::test_b19_kafka_19999_markers_are_written_again_after_a_crash",
        ),
    ),
    Bug(
        "B20",
        "KAFKA-19925: timeouts of transactions that began under another protocol version",
        (f"{COORDINATOR}::test_b20_kafka_19925_another_protocol_version_while_a_transaction_is_ongoing",),
    ),
    Bug(
        "B21",
        "KAFKA-9144: producers expire by the time of their records alone",
        (
            f"{PRODUCERS}::test_b21_kafka_9144_a_marker_refreshes_a_producer_whose_records_are_old",
            "tests/unit/test_log_state.py::test_ps_12_b21_expiry_goes_by_record_and_marker_time",
        ),
    ),
    Bug(
        "B22",
        "KAFKA-9307: stale entries stay when the coordinator's state is loaded again",
        (f"{COORDINATOR}::test_b22_kafka_9307_a_start_knows_what_is_in_the_log_and_nothing_else",),
    ),
    Bug(
        "B23",
        "KAFKA-15468: state is loaded again though this broker is the leader already",
        reason="One broker leads every partition from its start to its end, so nobody asks for a second load.",
    ),
    Bug(
        "B24",
        "KAFKA-9065: loading never ends where compaction left nothing before the log end",
        (
            f"{COORDINATOR}::test_b24_kafka_9065_a_log_whose_end_was_cleaned_away_is_loaded",
            f"{COORDINATOR}::test_b24_kafka_9065_a_log_with_nothing_but_a_gap_before_its_end_is_loaded",
        ),
    ),
    Bug(
        "B25",
        "KAFKA-7286: loading hangs at a record larger than its buffer",
        (f"{COORDINATOR}::test_b25_kafka_7286_a_record_larger_than_the_loaders_buffer",),
    ),
    Bug(
        "B26",
        "KAFKA-9600: EndTxn with a higher epoch is accepted from a client",
        (
            "tests/unit/test_txn_tables.py::test_end_txn_tv1_order_b26",
            "tests/vectors/test_txn_cells.py::test_end_txn_2_6",
        ),
    ),
    Bug(
        "B27",
        "KAFKA-9666: every InitProducerId against a broken log uses up an epoch",
        (f"{COORDINATOR}::test_b27_kafka_9666_retries_against_a_broken_log_use_up_no_epochs",),
    ),
    Bug(
        "B28",
        "KAFKA-9749: a marker that a storage error refused is not tried again",
        (
            f"{COORDINATOR}::test_b28_kafka_9749_a_storage_error_of_one_marker_is_tried_again",
            f"{COORDINATOR}::test_b28_kafka_9749_a_disk_that_fails_at_a_marker_stops_us_and_the_next_start_finishes",
        ),
    ),
    Bug(
        "B29",
        "KAFKA-9777: the end of a transaction depends on a lock that nobody tries again",
        (f"{COORDINATOR}::test_b29_kafka_9777_every_end_completes_whoever_else_ends_there",),
    ),
    Bug(
        "B30",
        "KAFKA-10080: Complete is written twice, the second time into the next transaction",
        (f"{COORDINATOR}::test_b30_kafka_10080_one_complete_for_one_end",),
    ),
    Bug(
        "B31",
        "KAFKA-5416: a refused write of Complete leaves the id stuck",
        (f"{COORDINATOR}::test_b31_kafka_5416_a_complete_record_that_is_refused_is_written_again",),
    ),
    Bug(
        "B32",
        "KAFKA-7519: an expiry that failed leaves the id busy for ever",
        (f"{COORDINATOR}::test_b32_kafka_7519_an_expiry_that_fails_leaves_the_id_usable",),
    ),
    Bug(
        "B33",
        "KAFKA-13099: so many ids expire at once that their tombstones fit no batch",
        (
            f"{COORDINATOR}::test_b33_kafka_13099_fifty_thousand_ids_expire_at_once",
            f"{COORDINATOR}::test_b33_kafka_13099_ids_expire_where_only_small_batches_are_allowed",
            f"{GROUPS}::test_b33_kafka_13099_offsets_of_a_deleted_topic_go_where_only_small_batches_are_allowed",
        ),
    ),
    Bug(
        "B34",
        "KAFKA-14880: a first write that failed leaves an entry that expiry stumbles over",
        (
            f"{COORDINATOR}::test_b34_kafka_14880_a_first_write_that_fails_leaves_nothing_behind",
            f"{COORDINATOR}::test_b34_kafka_14880_a_crash_at_the_very_first_write",
        ),
    ),
    Bug(
        "B35",
        "KAFKA-6119: a timeout aborts without fencing, and the old producer's write joins another transaction",
        (
            f"{COORDINATOR}::test_b35_kafka_6119_a_timed_out_producer_of_the_classic_protocol_is_fenced",
            "tests/unit/test_txn_tables.py::test_timeout_abort_under_tv1_bumps_the_epoch_b35_kafka_6119",
            "tests/vectors/test_txn_end.py::test_v59_a_transaction_times_out_tx_15_tx_16_trap_10",
        ),
    ),
    Bug(
        "B36",
        "KAFKA-13412: InitProducerId asked again after a timeout of the client",
        ("tests/vectors/test_txn_init.py::test_v15_kip_360_with_the_identity_that_is_held",),
    ),
    Bug(
        "B37",
        "KAFKA-10186, KAFKA-9279: an abort while records wait in the client",
        (f"{WIRE}::test_b37_kafka_10186_an_abort_with_records_that_were_not_sent_yet",),
    ),
    Bug(
        "B38",
        "KAFKA-9807: the high watermark is read twice for one answer of Fetch",
        (f"{WIRE}::test_b38_kafka_9807_one_view_of_the_offsets_per_answer",),
    ),
    Bug(
        "B39",
        "KAFKA-5376: a long poll loses the list of aborted transactions",
        (f"{WIRE}::test_b39_kafka_5376_a_long_poll_over_an_abort_tells_the_aborted_list",),
    ),
    Bug(
        "B40",
        "KAFKA-7866: the transaction index fails after the data, and an offset is used twice",
        (
            "tests/unit/test_classic_engine.py::test_b40_a_failed_transaction_index_stops_everything_before_a_reader_passes",
        ),
    ),
    Bug(
        "B41",
        "KAFKA-8351: compaction forgets open transactions from one group of segments to the next",
        ("tests/unit/test_log_compaction.py::test_b41_a_transaction_over_three_segments",),
    ),
    Bug(
        "B42",
        "KAFKA-13727: a segment cleaned in part loses entries of aborted transactions",
        (
            "tests/unit/test_log_compaction.py::test_b42_the_map_is_full_in_the_middle",
            "tests/unit/test_classic_cleaner.py::test_a_crash_in_a_swap_keeps_the_aborted_list",
        ),
    ),
    Bug(
        "B43",
        "KAFKA-14055: a user's key that equals a marker's removes the marker",
        ("tests/unit/test_log_compaction.py::test_b43_a_user_key_like_a_markers_key",),
    ),
    Bug(
        "B44",
        "KAFKA-8335, KAFKA-5490: the cleaner drops the last batch of a producer, or keeps empty ones for ever",
        (
            "tests/unit/test_log_compaction.py::test_b44_the_last_batch_of_a_producer_stays_as_a_header",
            "tests/unit/test_classic_cleaner.py::test_b44_producers_and_their_sequences_survive_cleaning_and_replay",
        ),
    ),
    Bug(
        "B45",
        "KAFKA-7467: batches that cleaning left empty break readers",
        (
            f"{STORAGE}::test_b45_kafka_7467_every_client_reads_a_cleaned_log",
            "tests/unit/test_log_state.py::test_b45_an_empty_control_batch_changes_nothing_but_the_end",
        ),
    ),
    Bug(
        "B46",
        "KAFKA-8522, KIP-534: tombstones and markers are never removed, or too early",
        (
            "tests/unit/test_log_compaction.py::test_b46_a_tombstone_stays_for_its_time_and_then_goes",
            "tests/unit/test_log_compaction.py::test_b46_a_marker_goes_after_its_data_and_its_time",
            "tests/unit/test_classic_cleaner.py::test_b46_tombstones_go_after_delete_retention_ms_and_not_before",
            f"{COORDINATOR}::test_b46_the_tombstone_of_an_expired_id_stays_for_delete_retention_ms",
        ),
    ),
    Bug(
        "B47",
        "KAFKA-6683: producer state changes before an append that fails",
        (
            "tests/unit/test_classic_engine.py::test_b47_a_failed_append_leaves_the_producer_as_it_was",
            "tests/unit/test_log_state.py::test_decide_changes_nothing_b47",
        ),
    ),
    Bug("B48", "KAFKA-9892: a snapshot is closed and not synced", (EVERY_CHANGE,)),
    Bug(
        "B49",
        "KAFKA-12153, KAFKA-9491: truncation into an open transaction",
        (
            f"{STORAGE}::test_b49_kafka_12153_a_cut_marker_opens_its_transaction_again",
            f"{STORAGE}::test_b49_kafka_12153_a_cut_first_batch_leaves_no_transaction_open",
        ),
    ),
    Bug(
        "B50",
        "KAFKA-5829, KAFKA-9105: snapshots are deleted too early or never",
        (
            "tests/unit/test_classic_engine.py::test_b50_no_snapshots_pile_up",
            "tests/unit/test_classic_engine.py::test_3_5_segments_roll_by_size_age_index_and_their_snapshots_stay",
        ),
    ),
    Bug(
        "B51",
        "KAFKA-10471: a crash while loading leaves the mark of a clean stop",
        (
            EVERY_CHANGE,
            "tests/unit/test_classic_recovery.py::test_b51_the_clean_shutdown_file_goes_before_anything_is_changed",
        ),
    ),
    Bug(
        "B52",
        "KAFKA-10101: the recovery point is ahead of the log end",
        ("tests/unit/test_classic_recovery.py::test_b52_a_log_shorter_than_the_recovery_point_is_refused",),
    ),
    Bug(
        "B53",
        "KAFKA-3968: a new segment vanishes because its directory was not synced",
        (
            CRASHES,
            "tests/unit/test_disk.py::test_b53_an_entry_is_only_there_after_its_directory_was_synced",
        ),
    ),
    Bug(
        "B54",
        "KAFKA-16541, KAFKA-15046: a checkpoint is half written when the machine stops",
        (EVERY_CHANGE,),
    ),
    Bug(
        "B55",
        "KAFKA-17181: a short write is not continued",
        (
            "tests/unit/test_disk.py::test_b55_a_short_write_is_continued",
            "tests/unit/test_disk.py::test_b55_a_full_disk_cuts_the_append_off_and_ends_all_writing",
            "tests/unit/test_classic_engine.py::test_b55_a_full_disk_refuses_and_leaves_a_whole_log",
        ),
    ),
    Bug(
        "B56",
        "KAFKA-7692, KAFKA-5283: sequences wrap after 2147483647",
        (
            f"{PRODUCERS}::test_b56_kafka_7692_sequences_wrap_inside_a_batch",
            f"{PRODUCERS}::test_b56_kafka_7692_the_sequence_after_the_largest_is_0",
            "tests/vectors/test_produce.py::test_v69_sequences_wrap",
        ),
    ),
    Bug(
        "B57",
        "KAFKA-7298, KAFKA-7190, KAFKA-8483: DeleteRecords took all data of a producer",
        (
            f"{PRODUCERS}::test_b57_kafka_7298_only_the_marker_is_left_of_a_producer",
            f"{PRODUCERS}::test_b57_kafka_7298_a_producer_that_was_forgotten_goes_on_at_any_sequence",
        ),
    ),
    Bug(
        "B58",
        "KAFKA-12152: a new epoch with the old sequence",
        (
            f"{PRODUCERS}::test_b58_kafka_12152_an_old_sequence_with_a_new_epoch_is_out_of_order",
            f"{PRODUCERS}::test_b58_kafka_12152_of_an_idempotent_producer",
            "tests/vectors/test_produce.py::test_v65_to_v68_sequences_of_one_producer",
        ),
    ),
    Bug(
        "B59",
        "KAFKA-13288: a search for hanging transactions skips internal topics",
        (f"{GROUPS}::test_b59_kafka_13288_a_search_for_hanging_transactions_sees_internal_topics",),
    ),
    Bug(
        "B60",
        "KAFKA-14694, KAFKA-14417: a block of producer ids is used up",
        ("tests/unit/test_producer_ids.py::test_b60_ten_thousand_at_once_get_an_id_each",),
    ),
    # Redpanda
    Bug(
        "R1",
        "ff95615: a zombie coordinator repeats the last commit after the next transaction began",
        (f"{COORDINATOR}::test_r1_redpanda_ff95615_a_replayed_commit_does_not_end_the_next_transaction",),
    ),
    Bug(
        "R2",
        "18c457f: a retry of EndTxn after its success is refused",
        (
            "tests/vectors/test_txn_end.py::test_v41_v44_tv1",
            "tests/vectors/test_txn_end.py::test_v50_v54_tv2",
            "tests/scenarios/test_faults.py::test_a_lost_reply_to_end_txn_is_asked_again_and_ends_once",
        ),
    ),
    Bug(
        "R3",
        "e63f6b9: two begins back to back",
        (
            f"{COORDINATOR}::test_r3_redpanda_e63f6b9_two_begins_back_to_back",
            "tests/unit/test_txn_tables.py::test_add_of_known_partitions_writes_nothing",
        ),
    ),
    Bug(
        "R4",
        "996e138: a zombie is admitted once the memory of its epoch was cleaned",
        (f"{PRODUCERS}::test_r4_redpanda_996e138_a_zombie_stays_out_when_its_partition_forgot_it",),
    ),
    Bug(
        "R5",
        "c50b68e, 10669: data is committed and its offsets are aborted after a replay",
        (f"{COORDINATOR}::test_r5_redpanda_c50b68e_data_and_offsets_end_alike_wherever_it_crashes_j7",),
    ),
    Bug(
        "R6",
        "166119f, 10097: a last stable offset ahead of the applied state",
        (STORIES, "tests/unit/test_classic_engine.py::test_trap_21_lso_passes_only_durable_markers"),
    ),
    Bug(
        "R7",
        "7aa02b5, a56d0d9: the last stable offset goes back, or is not there yet",
        (
            STORIES,
            "tests/unit/test_group_coordinator.py::test_while_a_partition_is_loaded_its_groups_are_not_there",
        ),
    ),
    Bug(
        "R8",
        "70541df: retention drops what is not decided",
        ("tests/unit/test_log_compaction.py::test_r8_retention_stops_at_the_high_watermark",),
    ),
    Bug(
        "R9",
        "e52a56c: a snapshot taken while the list of aborted transactions moves",
        ("tests/unit/test_classic_cleaner.py::test_a_crash_in_a_swap_keeps_the_aborted_list",),
    ),
    Bug(
        "R10",
        "CORE-16998, 17000, 17001: what is kept in memory differs from what a replay of the log gives",
        (
            "tests/properties/test_group_replay.py::test_live_state_is_replay_of_the_log_r10",
            "tests/unit/test_group_offsets.py::test_r10_an_offset_with_a_pending_value_does_not_expire",
            "tests/vectors/test_txn_offsets.py::test_v103_v105_pending_offsets_trap_32_trap_33",
            "tests/properties/test_log_replay.py::test_replay_is_live",
        ),
    ),
    Bug(
        "R11",
        "6630, 18852: read_uncommitted gets a list of aborted transactions, or loses their data",
        ("tests/vectors/test_txn_log.py::test_v84_v85_fetch_beside_an_open_transaction",),
    ),
    Bug(
        "R12",
        "13364: a marker takes more or less than one offset",
        (
            "tests/vectors/test_txn_log.py::test_v80_v83_three_transactions_interleaved",
            "tests/vectors/test_txn_log.py::test_v89_markers_for_strangers_trap_20",
        ),
    ),
    # Jepsen
    Bug(
        "J1",
        "KAFKA-17754: lost writes, aborted reads and torn transactions by late requests",
        (
            "tests/conformance/test_kafka_17754_late_endtxn.py::test_kafka_17754_late_endtxn_is_refused",
            "tests/conformance/test_kafka_17754_late_endtxn.py::test_kafka_17754_late_endtxn_does_harm_with_the_guard_off",
            f"{COORDINATOR}::test_b1_kafka_17754_late_endtxn_under_kip_890",
        ),
    ),
    Bug(
        "J2",
        "Redpanda 3036: aborted reads, because the last stable offset was taken as readable",
        (STORIES, f"{WIRE}::test_b38_kafka_9807_one_view_of_the_offsets_per_answer"),
    ),
    Bug(
        "J3",
        "Redpanda 3232: a late abort marker hides records of the next transaction",
        (
            f"{JEPSEN}::test_j3_an_abort_marker_ends_its_own_transaction_only",
            f"{JEPSEN}::test_j3_a_late_abort_marker_of_the_epoch_before_is_refused",
        ),
    ),
    Bug(
        "J4",
        "Redpanda 3039: duplicates in spite of idempotence, after a restart",
        (CRASHES, "tests/unit/test_classic_recovery.py::test_rec_7_duplicates_are_known_after_a_restart"),
    ),
    Bug("J5", "Redpanda 3003: two values at one offset", (STORIES, CRASHES)),
    Bug(
        "J6",
        "Redpanda 6018: a begin that was only in memory, and a commit of half",
        (
            f"{JEPSEN}::test_j6_a_begin_that_was_answered_is_durable",
            f"{JEPSEN}::test_j6_a_begin_that_was_not_answered_is_there_or_not",
        ),
    ),
    Bug(
        "J7",
        "An error that says no where the transaction may be committed",
        (
            f"{COORDINATOR}::test_r5_redpanda_c50b68e_data_and_offsets_end_alike_wherever_it_crashes_j7",
            STORIES,
        ),
    ),
    Bug(
        "J8",
        "KAFKA-13574: the retry of a send that succeeded is told that it failed",
        ("tests/vectors/test_produce.py::test_v65_to_v68_sequences_of_one_producer", CRASHES),
    ),
    Bug(
        "J9",
        "Bufstream: offset 0 in the answer to a duplicate",
        (
            "tests/vectors/test_produce.py::test_v65_to_v68_sequences_of_one_producer",
            "tests/unit/test_classic_recovery.py::test_rec_7_duplicates_are_known_after_a_restart",
        ),
    ),
    Bug(
        "J10",
        "Bufstream: acknowledged writes are lost though nothing goes wrong",
        (f"{JEPSEN}::test_j10_nothing_is_lost_when_nothing_goes_wrong",),
    ),
    Bug("J11", "Bufstream: consumers and producers that are stuck", (STORIES,)),
    Bug(
        "J12",
        "KAFKA-17582: where a consumer is after an abort",
        (f"{JEPSEN}::test_j12_an_abort_moves_no_position_and_the_committed_offset_stays",),
    ),
    Bug(
        "J13",
        "KAFKA-17734: the Java consumer's close waits for ever",
        reason="It is a fault of that client alone; the versions of all clients that test us are pinned.",
    ),
    Bug(
        "J14",
        "A transaction sees its own record before it is committed",
        (f"{JEPSEN}::test_j14_a_transaction_does_not_see_its_own_records_before_it_is_committed",),
    ),
    Bug(
        "J15",
        "Write cycles, which are normal in Kafka and no fault",
        (f"{JEPSEN}::test_j15_writes_of_two_transactions_may_interleave",),
    ),
    Bug(
        "J16",
        "NATS: a flipped bit makes recovery drop what it cannot read",
        (
            f"{STORAGE}::test_j16_a_flipped_bit_of_any_file_is_harmless_or_named",
            "tests/unit/test_classic_recovery.py::test_rule_4_damage_below_the_recovery_point_is_refused_and_named",
        ),
    ),
    Bug(
        "J17",
        "NATS: acknowledged writes are lost with the power",
        (
            CRASHES,
            "tests/conformance/test_kill9.py::test_power_cuts_on_real_files_lose_nothing_acknowledged",
        ),
    ),
    Bug(
        "J18",
        "NATS: a snapshot that contradicts the log after kill -9 takes the whole stream with it",
        (
            EVERY_CHANGE,
            "tests/unit/test_classic_cleaner.py::test_a_crash_at_every_change_leaves_the_old_or_the_new",
        ),
    ),
    Bug(
        "J19",
        "NATS, Redpanda: two leaders that do not know of each other",
        ("tests/unit/test_disk.py::test_a_second_process_is_refused",),
    ),
    Bug(
        "J20",
        "Kafka 0.8: an old replica is elected and acknowledged writes are gone",
        reason="With one replica there is nobody to be elected, and nothing is read from another copy.",
    ),
)
