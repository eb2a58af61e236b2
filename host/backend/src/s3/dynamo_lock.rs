//! Locks and digests in a DynamoDB table.

use http::StatusCode;
use serde_json::{Value, json};
use wardian_aws::AwsServiceError;
use wardian_state::{LockInfo, StorageError};

use super::client::S3Client;

/// The result of an attempt to lock.
pub(super) enum TableLock {
    Acquired,
    /// Another process holds the lock.
    Held(Option<LockInfo>),
}

/// Creates the item of a lock unless it exists.
pub(super) async fn lock(
    client: &S3Client,
    table: &str,
    lock_id: &str,
    info: &LockInfo,
) -> Result<TableLock, StorageError> {
    let body = json!({
        "TableName": table,
        "Item": { "LockID": { "S": lock_id }, "Info": { "S": info.to_json() } },
        "ConditionExpression": "attribute_not_exists(LockID)",
    });
    let sent = client.table("PutItem", &body).await?;
    if sent.response.status == StatusCode::OK {
        return Ok(TableLock::Acquired);
    }
    if AwsServiceError::from_response(&sent.response).code != "ConditionalCheckFailedException" {
        return Err(client.failure("lock the state", &sent.response));
    }
    let holder = read_lock(client, table, lock_id).await?;
    match holder {
        // An earlier attempt of this request has created the item.
        Some(holder) if sent.is_repeated && holder.id == info.id => Ok(TableLock::Acquired),
        holder => Ok(TableLock::Held(holder)),
    }
}

/// Returns the holder of a lock; [`None`] if there is none, or if it stored no information.
pub(super) async fn read_lock(
    client: &S3Client,
    table: &str,
    lock_id: &str,
) -> Result<Option<LockInfo>, StorageError> {
    let text = read_item(client, table, lock_id, "Info").await?;
    Ok(text.and_then(|text| LockInfo::from_json(text.as_bytes())))
}

/// Returns the digest of a state; [`None`] if the table contains none.
pub(super) async fn read_digest(
    client: &S3Client,
    table: &str,
    lock_id: &str,
) -> Result<Option<String>, StorageError> {
    read_item(client, table, &format!("{lock_id}-md5"), "Digest").await
}

async fn read_item(
    client: &S3Client,
    table: &str,
    lock_id: &str,
    attribute: &str,
) -> Result<Option<String>, StorageError> {
    let body = json!({
        "TableName": table,
        "Key": { "LockID": { "S": lock_id } },
        "ProjectionExpression": format!("LockID, {attribute}"),
        "ConsistentRead": true,
    });
    let response = client.table("GetItem", &body).await?.response;
    if response.status != StatusCode::OK {
        return Err(client.failure("read the lock table", &response));
    }
    let value: Value = serde_json::from_slice(&response.body)
        .map_err(|_| StorageError::new("the response from the lock table is not JSON"))?;
    let text = value.get("Item").and_then(|item| item.get(attribute)?.get("S")?.as_str());
    Ok(text.map(str::to_owned).filter(|text| !text.is_empty()))
}

pub(super) async fn write_digest(
    client: &S3Client,
    table: &str,
    lock_id: &str,
    digest: &str,
) -> Result<(), StorageError> {
    let body = json!({
        "TableName": table,
        "Item": { "LockID": { "S": format!("{lock_id}-md5") }, "Digest": { "S": digest } },
    });
    let response = client.table("PutItem", &body).await?.response;
    if response.status == StatusCode::OK {
        return Ok(());
    }
    Err(client.failure("write the digest of the state", &response))
}

/// Deletes the item of a lock, or with the suffix `-md5` the item of a digest.
pub(super) async fn delete_item(client: &S3Client, table: &str, lock_id: &str) -> Result<(), StorageError> {
    let body = json!({ "TableName": table, "Key": { "LockID": { "S": lock_id } } });
    let response = client.table("DeleteItem", &body).await?.response;
    if response.status == StatusCode::OK {
        return Ok(());
    }
    Err(client.failure("unlock the state", &response))
}
