"""Mixpanel's reserved properties, and where they come from."""

from __future__ import annotations

from svctoolkit.mapping import FIRST_NAME, IP, LAST_NAME, Table, first, string, trait

_INITIAL_REFERRER = first("context.page.initial_referrer", "context.page.initialReferrer")
_INITIAL_DOMAIN = first("context.page.initial_referring_domain", "context.page.initialReferringDomain")

EVENT = Table(
    {
        "ip": IP,
        "$user_id": string("userId"),
        "campaign_id": "context.campaign.name",
        "$current_url": "context.page.url",
        "$referrer": "context.page.referrer",
        "$os": "context.os.name",
        "$os_version": "context.os.version",
        "$screen_height": "context.screen.height",
        "$screen_width": "context.screen.width",
        "$screen_dpi": "context.screen.density",
        "$carrier": "context.network.carrier",
        "$wifi": "context.network.wifi",
        "$bluetooth_enabled": "context.network.bluetooth",
        "$device": "context.device.name",
        "$manufacturer": "context.device.manufacturer",
        "$model": "context.device.model",
        "mp_device_model": "context.device.model",
        "mp_lib": "context.library.name",
        "$initial_referrer": first("context.page.initialReferrer", "context.page.initial_referrer"),
        "$initial_referring_domain": first(
            "context.page.initialReferringDomain", "context.page.initial_referring_domain"
        ),
        "$app_name": "context.app.name",
        "$app_namespace": "context.app.namespace",
        "$app_build_number": first("properties.appBuildNumber", "context.app.build"),
        "$app_version_string": first("properties.appVersionString", "context.app.version"),
        "$bluetooth_version": "properties.bluetoothVersion",
        "$brand": "properties.brand",
        "$google_play_services": "properties.googlePlayServices",
        "$has_nfc": "properties.hasNfc",
        "$has_telephone": "properties.hasTelephone",
        "$lib_version": "properties.libVersion",
        "$radio": "properties.radio",
        "$search_engine": "properties.searchEngine",
        "mp_keyword": "properties.mpKeyword",
        "mp_processing_time_ms": "properties.mpProcessingTimeMs",
        "$session_id": string("context.sessionId"),
    }
)
PERSON = Table(
    {
        "$created": trait("createdAt"),
        "$email": trait("email"),
        "$first_name": FIRST_NAME,
        "$last_name": LAST_NAME,
        "$name": trait("name"),
        "$username": first(trait("username"), trait("userName")),
        "$phone": trait("phone"),
        "$avatar": trait("avatar"),
        "$country_code": first(trait("address.country"), trait("country"), "context.location.country"),
        "$city": first(trait("city"), trait("address.city"), "context.location.city"),
        "$region": first(trait("state"), trait("address.state"), "context.location.region"),
        "$unsubscribed": trait("unsubscribed"),
        "$geo_source": "context.location.geoSource",
        "$latitude": "context.location.latitude",
        "$longitude": "context.location.longitude",
        "$timezone": "context.location.timezone",
        "$carrier": "context.network.carrier",
        "$wifi": "context.network.wifi",
        "$manufacturer": "context.device.manufacturer",
        "$model": "context.device.model",
        "$screen_height": "context.screen.height",
        "$screen_width": "context.screen.width",
        "$initial_referrer": _INITIAL_REFERRER,
        "$initial_referring_domain": _INITIAL_DOMAIN,
    }
)
ADDRESS = Table({"$ip": IP})
#: The fields that push notifications of each platform require.
DEVICE = {
    "android": Table(
        {
            "$android_model": "context.device.model",
            "$android_os_version": "context.os.version",
            "$android_manufacturer": "context.device.manufacturer",
            "$android_app_version": "context.app.version",
            "$android_app_version_code": "context.app.build",
            "$android_brand": "context.device.manufacturer",
            "$os": "context.os.name",
        }
    ),
    "ios": Table(
        {
            "$ios_device_model": "context.device.model",
            "$ios_version": "context.os.version",
            "$ios_app_release": "context.app.version",
            "$ios_app_version": "context.app.build",
            "$os": "context.os.name",
        }
    ),
}
