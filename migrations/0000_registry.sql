CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`epoch` text NOT NULL,
	`seq` integer DEFAULT 0 NOT NULL,
	`guidelines` text DEFAULT '' NOT NULL,
	`guidelines_seq` integer DEFAULT 0 NOT NULL,
	`guidelines_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `blobs` (
	`account_id` text NOT NULL,
	`digest` text NOT NULL,
	`size` integer NOT NULL,
	`bytes` blob NOT NULL,
	`stored_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `digest`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `changes` (
	`account_id` text NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`type` text NOT NULL,
	`item_id` text,
	`kind` text,
	`name` text,
	`revision` integer,
	`author` text NOT NULL,
	PRIMARY KEY(`account_id`, `seq`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `changes_of_item` ON `changes` (`item_id`,`seq`);--> statement-breakpoint
CREATE TABLE `clients_seen` (
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`name` text NOT NULL,
	`version` text NOT NULL,
	`first_seen_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `device_id`, `name`, `version`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `code_misses` (
	`account_id` text NOT NULL,
	`at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `code_misses_in_order` ON `code_misses` (`account_id`,`at`);--> statement-breakpoint
CREATE TABLE `confirmations` (
	`account_id` text NOT NULL,
	`item_id` text NOT NULL,
	`rule` text NOT NULL,
	`match` text NOT NULL,
	`author` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `item_id`, `rule`, `match`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `device_events` (
	`device_id` text NOT NULL,
	`id` text NOT NULL,
	`received_at` integer NOT NULL,
	`item_id` text NOT NULL,
	`event` text NOT NULL,
	PRIMARY KEY(`device_id`, `id`),
	FOREIGN KEY (`device_id`) REFERENCES `devices`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `device_events_in_order` ON `device_events` (`device_id`,`received_at`);--> statement-breakpoint
CREATE INDEX `device_events_of_item` ON `device_events` (`item_id`,`received_at`);--> statement-breakpoint
CREATE TABLE `device_tokens` (
	`hash` text PRIMARY KEY NOT NULL,
	`device_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`device_id`) REFERENCES `devices`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `devices` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`platform` text NOT NULL,
	`thumbprint` text NOT NULL,
	`paired_at` integer NOT NULL,
	`last_seen_at` integer,
	`revoked_at` integer,
	`reported_seq` integer,
	`agent_version` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `devices_thumbprint_unique` ON `devices` (`thumbprint`);--> statement-breakpoint
CREATE INDEX `devices_of_account` ON `devices` (`account_id`);--> statement-breakpoint
CREATE TABLE `files` (
	`item_id` text NOT NULL,
	`revision` integer NOT NULL,
	`path` text NOT NULL,
	`digest` text NOT NULL,
	`size` integer NOT NULL,
	`executable` integer NOT NULL,
	PRIMARY KEY(`item_id`, `revision`, `path`),
	FOREIGN KEY (`item_id`) REFERENCES `items`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `folder_items` (
	`device_id` text NOT NULL,
	`path` text NOT NULL,
	`kind` text NOT NULL,
	`item_id` text NOT NULL,
	`name` text NOT NULL,
	`state` text NOT NULL,
	`revision` integer,
	`digest` text,
	`message` text,
	`at` integer NOT NULL,
	PRIMARY KEY(`device_id`, `path`, `kind`, `item_id`),
	FOREIGN KEY (`device_id`) REFERENCES `devices`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `folder_items_of_item` ON `folder_items` (`item_id`);--> statement-breakpoint
CREATE INDEX `folder_items_odd` ON `folder_items` (`device_id`,`state`);--> statement-breakpoint
CREATE TABLE `folder_reports` (
	`device_id` text NOT NULL,
	`path` text NOT NULL,
	`kind` text NOT NULL,
	`clients` text NOT NULL,
	`state` text NOT NULL,
	`message` text,
	`at` integer NOT NULL,
	PRIMARY KEY(`device_id`, `path`, `kind`),
	FOREIGN KEY (`device_id`) REFERENCES `devices`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `guards` (
	`holds` integer NOT NULL,
	CONSTRAINT "guard_holds" CHECK("guards"."holds" = 1)
);
--> statement-breakpoint
CREATE TABLE `items` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`state` text NOT NULL,
	`revision` integer NOT NULL,
	`digest` text NOT NULL,
	`flags` text NOT NULL,
	`front_matter` text,
	`inline_bytes` integer NOT NULL,
	`seq` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `items_by_name` ON `items` (`account_id`,`kind`,`name`);--> statement-breakpoint
CREATE UNIQUE INDEX `items_by_seq` ON `items` (`account_id`,`seq`);--> statement-breakpoint
CREATE INDEX `items_listed` ON `items` (`account_id`,`state`,`kind`,`name`);--> statement-breakpoint
CREATE TABLE `pairings` (
	`device_code` text PRIMARY KEY NOT NULL,
	`user_code` text NOT NULL,
	`jwk` text NOT NULL,
	`thumbprint` text NOT NULL,
	`name` text NOT NULL,
	`platform` text NOT NULL,
	`place` text NOT NULL,
	`made_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`last_poll_at` integer,
	`state` text NOT NULL,
	`account_id` text,
	`approved_by` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `pairings_user_code_unique` ON `pairings` (`user_code`);--> statement-breakpoint
CREATE INDEX `pairings_by_place` ON `pairings` (`place`,`made_at`);--> statement-breakpoint
CREATE TABLE `proofs` (
	`thumbprint` text NOT NULL,
	`jti` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`thumbprint`, `jti`)
);
--> statement-breakpoint
CREATE INDEX `proofs_by_expiry` ON `proofs` (`expires_at`);--> statement-breakpoint
CREATE TABLE `revisions` (
	`item_id` text NOT NULL,
	`revision` integer NOT NULL,
	`parent` integer,
	`digest` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`flags` text NOT NULL,
	`front_matter` text,
	`author` text NOT NULL,
	`made_at` integer NOT NULL,
	PRIMARY KEY(`item_id`, `revision`),
	FOREIGN KEY (`item_id`) REFERENCES `items`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`hash` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`revoked_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tokens_hash_unique` ON `tokens` (`hash`);