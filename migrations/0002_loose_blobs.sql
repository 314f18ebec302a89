ALTER TABLE `blobs` ADD `loose_since` integer;--> statement-breakpoint
CREATE INDEX `blobs_loose` ON `blobs` (`loose_since`) WHERE "blobs"."loose_since" is not null;